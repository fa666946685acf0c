"""The exercises of chapter decoding."""
