"""The exercises of chapter prompting-and-retrieval."""
