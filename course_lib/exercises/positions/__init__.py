"""The exercises of chapter positions."""
