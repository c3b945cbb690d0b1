"""Exploration of unmodified controllers: a real process, a gate before the API server, and plans that perturb it."""
