"""The exercises of chapter nade."""
