"""Strategies of the kinds that extend or configure the API server itself."""
