"""Explanations as data, for the explorer, live, race and the auditor: remedies, fixes, edits, and their sentences.

A fix says where to change what, as values. Its sentence and the lines before and after are made at the end, for the
language of its place.
"""
