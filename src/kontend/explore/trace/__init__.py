"""Traces and schedules: counterexamples as text, files and tokens, and how they are followed again."""
