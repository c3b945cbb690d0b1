"""OpenAPI schemas: the tree that built-in and custom kinds share, string formats, pruning and defaulting."""
