"""The exercises of chapter documents."""
