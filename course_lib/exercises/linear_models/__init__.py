"""The exercises of chapter linear-models."""
