"""The exercises of chapter chain-rule."""
