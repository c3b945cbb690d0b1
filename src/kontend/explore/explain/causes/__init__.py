"""Causes of violations: of a write, of a final state, of a cycle, and the fixes that follow from them."""
