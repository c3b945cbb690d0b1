"""Trace documents: one violation as data, and its forms as text, Markdown, archive and page.

The explorer, ``kontend live`` and ``kontend race`` write these documents; everything that shows a violation reads them.
This package needs nothing of the rest, so a document can be shown without running or importing user code.
"""
