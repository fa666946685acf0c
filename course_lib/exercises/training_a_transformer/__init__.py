"""The exercises of chapter training-a-transformer."""
