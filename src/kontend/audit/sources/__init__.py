"""Inputs of an audit: files, earlier revisions, and CRDs."""
