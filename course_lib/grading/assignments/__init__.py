"""The notebooks of exercises: their form, the pages built from them, the bundles for a class, the exports."""
