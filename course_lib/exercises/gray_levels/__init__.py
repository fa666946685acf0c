"""The exercises of chapter gray-levels."""
