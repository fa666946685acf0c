"""The exercises of chapter denoising."""
