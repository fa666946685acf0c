"""The exercises of chapter real-numbers."""
