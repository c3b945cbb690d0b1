"""The scheduler and the agents on the nodes."""
