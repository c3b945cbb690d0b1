"""Plans: steps that each happen once, in order, across crashes."""
