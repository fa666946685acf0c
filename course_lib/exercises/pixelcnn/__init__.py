"""The exercises of chapter pixelcnn."""
