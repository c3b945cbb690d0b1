"""The content of what a trace is about: a file, or the Go files of a package."""

from __future__ import annotations

from pathlib import Path


def content_of(source: Path) -> bytes:
    """The content of a file, or that of all Go files of a directory."""
    if not source.is_dir():
        return source.read_bytes()
    return b"".join(file.name.encode() + b"\0" + file.read_bytes() for file in sorted(source.glob("*.go")))
