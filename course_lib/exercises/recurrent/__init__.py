"""The exercises of chapter recurrent."""
