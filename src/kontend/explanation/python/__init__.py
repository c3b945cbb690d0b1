"""Python code that a fix is about, as syntax trees."""
