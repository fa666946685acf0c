"""The exercises of chapter gpt."""
