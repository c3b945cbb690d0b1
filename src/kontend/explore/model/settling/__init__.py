"""Settled states: quiescence of one state, and runs that never come to it."""
