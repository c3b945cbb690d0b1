"""Saves a violation: its archive, and beside it the page that shows it."""

from __future__ import annotations

from pathlib import Path

from kontend.report.archive import write_archive
from kontend.report.document import Document
from kontend.report.page.contents import results_of
from kontend.report.page.page import page
from kontend.safe_files import write_whole


def save(directory: Path, document: Document) -> Path:
    """Write the archive and the page of a document; returns the path of the archive. Raises ``OSError``."""
    path = write_archive(directory, document)
    write_whole(page_beside(path), page(results_of([document]), title=document.source.file or "kontend"))
    return path


def page_beside(archive: Path | str) -> Path:
    """Return the path of the page of an archive.

    >>> page_beside("failures/lost-update-35b73d4b.zip").as_posix()
    'failures/lost-update-35b73d4b.html'
    """
    return Path(archive).with_suffix(".html")
