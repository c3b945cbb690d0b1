"""Virtual time: runs of a scenario in which deliveries, calls and retries take seconds, drawn from a seed."""
