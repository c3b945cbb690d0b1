"""Plans: runs in which only the perturbations happen that somebody has asked for."""
