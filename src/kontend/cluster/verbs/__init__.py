"""The verbs of the API server: create, update, patch, delete, get, list, watch."""
