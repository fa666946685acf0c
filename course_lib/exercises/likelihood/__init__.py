"""The exercises of chapter likelihood."""
