"""The exercises of chapter inside-a-transformer."""
