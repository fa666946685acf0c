"""The exercises of chapter made."""
