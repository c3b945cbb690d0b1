"""Dynamic resource allocation: devices, their classes, and claims on them."""
