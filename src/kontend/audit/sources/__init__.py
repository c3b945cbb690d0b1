"""Inputs of an audit: files, earlier revisions, CRDs, and suppression comments."""
