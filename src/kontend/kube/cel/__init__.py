"""The Common Expression Language, as Kubernetes uses it."""
