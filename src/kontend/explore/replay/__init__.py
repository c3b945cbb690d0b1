"""Follows recorded counterexamples again: in tests, by their trace, and from files."""
