"""Subresources and requests with their own logic: scale, binding, eviction, tokens, reviews."""
