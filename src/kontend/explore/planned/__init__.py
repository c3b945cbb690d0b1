"""Plans: runs in which only the perturbations happen that a plan names."""
