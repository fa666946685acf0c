"""The exercises of chapter fill-the-gap."""
