"""Caches: views of each kind, and the informers that keep them up to date."""
