"""Trace documents as files: a zip with a manifest, the document, and the objects in it.

The file is named after what happens, not after when it was found, so the same violation always gets the same name and
the same bytes.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Final

import orjson
import xxhash

from kontend.report.decoding import BadDocument
from kontend.report.document import Document
from kontend.safe_files import BadArchive, real_directory, unpack, write_whole

_DOCUMENT: Final = "trace.json"
_MANIFEST: Final = "manifest.json"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


class BadTrace(ValueError):
    """A file that is not a trace of kontend; the message names it and says why."""


def write_archive(directory: Path, document: Document) -> Path:
    """Write a document into a directory; returns the path of the file. Raises ``OSError``."""
    violation, source = document.violation, document.source
    manifest = {
        "format": document.format,
        "versions": document.versions,
        "source": {"file": source.file, "scenario": source.scenario, "digest": source.digest},
        "property": violation.property,
        "sentence": violation.sentence,
        "files": [_DOCUMENT],
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in ((_MANIFEST, _json(manifest)), (_DOCUMENT, document.dump())):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    path = real_directory(directory) / f"{slug(document)}.zip"
    write_whole(path, packed.getvalue())
    return path


def slug(document: Document) -> str:
    """Return the name of the file of a document, without its suffix: the property, and a hash of what happens."""
    happens = [document.source.file, document.source.scenario, document.violation.property, document.schedule]
    name = "".join(letter if letter.isalnum() or letter in "_-" else "-" for letter in document.violation.property)
    return f"{name[:60]}-{xxhash.xxh3_64_hexdigest(_json([*happens, document.bounds]))[:8]}"


def read_archive(path: Path) -> Document:
    """Return the document in a file. Raises :class:`BadTrace`."""
    try:
        files = unpack(path)
        if _DOCUMENT not in files:
            raise BadDocument(f"it has no {_DOCUMENT}")
        return Document.load(files[_DOCUMENT])
    except BadArchive as error:
        raise BadTrace(f"{error}; expected a counterexample, as kontend explore saves them in failures/") from error
    except BadDocument as error:
        raise BadTrace(f"{path}: not a trace of kontend: {error}") from error


def _json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2)
