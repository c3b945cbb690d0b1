"""Changes of Go code."""
