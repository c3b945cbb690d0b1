"""Scenarios made from seeds, and the comparison of the explorer with the oracle on them."""
