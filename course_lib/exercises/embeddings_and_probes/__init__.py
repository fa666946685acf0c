"""The exercises of chapter embeddings-and-probes."""
