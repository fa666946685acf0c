"""The exercises of chapter counting-text."""
