"""Measurements, printed as tables: ``make bench``."""
