"""A submission as a file: what its notebook defines, read without running any of it."""
