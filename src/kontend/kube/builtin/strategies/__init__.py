"""Registry strategies of the built-in kinds, one module for each area of the API."""
