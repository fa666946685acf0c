"""The exercises of chapter transformer."""
