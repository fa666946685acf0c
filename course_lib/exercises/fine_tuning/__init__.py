"""The exercises of chapter fine-tuning."""
