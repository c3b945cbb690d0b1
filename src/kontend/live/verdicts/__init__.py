"""Verdicts: violations with their rate, their explanation and their trace."""
