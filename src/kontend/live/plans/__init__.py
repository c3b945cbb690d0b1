"""Plans: derived from unperturbed runs, and made simpler once they have shown a violation."""
