"""Races in recorded logs: reads Kubernetes audit logs and finds the writes that undo those of others."""
