"""Workloads that nobody has written: objects and steps of a user, derived from definitions, samples and a first run."""
