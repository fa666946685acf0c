"""Autoregressive models and transformers, from the chain rule to BERT: the library of the course."""

__version__ = "0.1.0"
