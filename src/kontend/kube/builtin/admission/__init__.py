"""What the built-in admission plugins know about kinds."""
