"""Files written and archives read with care.

A file is written whole or not at all, under a new name that is then moved into place: a link that somebody has put
there is replaced, never followed. An archive is unpacked into memory, up to a limit that is counted while it is
unpacked, not taken from what the archive says of itself.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import zipfile
import zlib
from pathlib import Path
from typing import Final

#: Bytes and files that an archive may unpack to.
MAX_UNPACKED: Final = 64 << 20
MAX_FILES: Final = 10_000
_PIECE: Final = 1 << 16


class BadArchive(Exception):
    """A file that is not an archive, or one that is damaged or too large; the message names it and says why."""


def write_whole(path: Path, content: str | bytes, *, mode: int = 0o644) -> None:
    """Write a file whole or not at all, and durably. Links at ``path`` are replaced, not followed."""
    raw = content.encode() if isinstance(content, str) else content
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(unfinished, flags, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file that only its owner can read, as :func:`write_whole` does."""
    write_whole(path, content, mode=0o600)


def real_directory(path: Path) -> Path:
    """Make a directory if need be and return it. Raises FileExistsError where a link or a file is in its place."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise FileExistsError(f"{path} is not a directory") from None
    if path.is_symlink():
        raise FileExistsError(f"{path} is a symbolic link; nothing is written through it")
    return path


def unpack(path: Path, *, max_bytes: int = MAX_UNPACKED, max_files: int = MAX_FILES) -> dict[str, bytes]:
    """Return the files of a zip archive by name. Raises :class:`BadArchive`; nothing is written to disk.

    Directories, links, encrypted files and names that lead out of the archive (absolute, or with ``..``) are refused.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > max_files:
                raise BadArchive(f"{path}: holds {len(entries)} files, more than {max_files}")
            files: dict[str, bytes] = {}
            left = max_bytes
            for entry in entries:
                _check_entry(path, entry, files)
                content = bytearray()
                with archive.open(entry) as file:
                    while piece := file.read(min(_PIECE, left + 1 - len(content))):
                        content += piece
                        if len(content) > left:
                            raise BadArchive(f"{path}: unpacks to more than {max_bytes} bytes")
                left -= len(content)
                files[entry.filename] = bytes(content)
            return files
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise BadArchive(f"{path}: not a readable archive: {error}") from None
    except OSError as error:
        raise BadArchive(f"{path}: {error.strerror or error}") from None


def _check_entry(path: Path, entry: zipfile.ZipInfo, files: dict[str, bytes]) -> None:
    name = entry.filename
    parts = name.replace("\\", "/").split("/")
    if not name or name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0] or "\0" in name:
        raise BadArchive(f"{path}: holds a file whose name leads elsewhere: {name!r}")
    if entry.is_dir() or (entry.external_attr >> 16) & 0o170000 == 0o120000:
        raise BadArchive(f"{path}: holds a directory or a link: {name!r}")
    if entry.flag_bits & 0x1:
        raise BadArchive(f"{path}: holds an encrypted file: {name!r}")
    if name in files:
        raise BadArchive(f"{path}: holds two files of the name {name!r}")
