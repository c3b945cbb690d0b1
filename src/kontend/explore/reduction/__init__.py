"""Reductions: macro-steps that leave out intermediate states which cannot make a difference."""
