"""Properties of runs: what violates them, and final states that can be compared."""
