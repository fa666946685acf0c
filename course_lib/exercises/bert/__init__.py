"""The exercises of chapter bert."""
