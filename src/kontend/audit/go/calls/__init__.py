"""Calls of the Kubernetes API: which ones write, through whose client, and which ones read into an object."""
