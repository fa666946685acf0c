"""The exercises of chapter fvsbn."""
