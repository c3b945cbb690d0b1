"""Random walks: single runs, the schedulers that choose their steps, and the shrinking of what they find."""
