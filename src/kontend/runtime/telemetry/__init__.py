"""Logs and metrics of the runtime."""
