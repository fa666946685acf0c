"""The exercises of chapter word-vectors."""
