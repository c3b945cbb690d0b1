"""Trace documents: one violation as data, and its forms as text, Markdown, archive and page.

The explorer, ``kontend live`` and ``kontend race`` write these documents; everything that shows a violation reads them.
This package needs nothing of the rest, so a document can be shown without running or importing user code.
"""

from __future__ import annotations

from typing import Final

#: The width of text where nothing is known about the terminal.
WIDTH: Final = 110
