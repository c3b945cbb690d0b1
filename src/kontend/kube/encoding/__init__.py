"""Request bodies: JSON and YAML as Go reads them, times, and decoding into a built-in kind's Go type."""
