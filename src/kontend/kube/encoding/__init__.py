"""Request bodies: JSON and YAML as Go reads them, and decoding into a built-in kind's Go type."""
