"""The exercises of chapter attention."""
