"""Tests of the second tier that belong to no single module."""
