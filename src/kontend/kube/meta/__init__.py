"""Names, object metadata, label selectors and field selectors."""
