"""The exercises of chapter self-attention."""
