"""OpenAPI schemas: the shared schema tree, pruning, defaulting and validation of custom resources."""
