"""Names, object metadata, times, label selectors and field selectors."""
