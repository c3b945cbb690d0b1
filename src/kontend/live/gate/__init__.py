"""The gate between a process and the API server: calls, perturbations, decisions, and the records of a run."""
