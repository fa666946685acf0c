"""The exercises of chapter backpropagation."""
