"""Validation of volumes, claims and storage classes."""
