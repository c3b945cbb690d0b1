"""Texts of files by path, read again whenever they are asked for.

A tree of millions of lines has more text than an audit may keep. It is walked once, file by file, and few files are
met again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path


class Texts(Mapping[str, bytes]):
    """Texts by path: held ones, and ones that are on disk.

    >>> texts = Texts()
    >>> texts["a.go"] = b"package a"
    >>> texts["a.go"], list(texts)
    (b'package a', ['a.go'])
    """

    def __init__(self) -> None:
        """Begin with no texts."""
        self._held: dict[str, bytes | None] = {}
        self._paths: dict[str, str] = {}

    def __setitem__(self, path: str, text: bytes) -> None:
        self._held[path] = text

    def note(self, path: str) -> None:
        """Add a file that is on disk."""
        self._held[path] = None

    def held(self, path: str) -> bytes | None:
        """Return the text of a path that is not on disk; None for one that is."""
        return self._held[path]

    def __getitem__(self, path: str) -> bytes:
        held = self._held[path]
        if held is not None:
            return held
        try:
            return Path(self._paths.get(path, path)).read_bytes()
        except OSError:
            return b""  # it was there when the tree was walked

    def __contains__(self, path: object) -> bool:
        return path in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def shown(self, other: Texts, name: Callable[[str], str]) -> Texts:
        """Return these texts and others under the names that their paths are shown with."""
        joined = Texts()
        for texts in (self, other):
            for path, text in texts._held.items():
                joined._held[name(path)] = text
                joined._paths[name(path)] = texts._paths.get(path, path)
        return joined
