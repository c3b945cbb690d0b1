"""The visited set: the number of the first state with a key.

In memory it is a dict. On disk it is a hash table in a mapped file: the first bits of a key, which is a hash itself,
say on which page its entry is, and ``bytes.find`` looks through the page. So a lookup touches one page, and is a matter
of a microsecond while that page is in the system's cache. New keys wait in a dict and are added in the order of pages.

sqlite3 and sorted runs with a Bloom filter were measured, too: docs/scale.md has the figures.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import groupby, islice
from pathlib import Path
from typing import Final

from kontend.explore.search.store.files import MappedFile

_PAGE: Final = 4096
_KEY: Final = 16
_ENTRY: Final = _KEY + 8
#: Entries that fit onto a page, beside their number; and the average at which there are more pages.
_FULL: Final = (_PAGE - 2) // _ENTRY
_MEAN: Final = 108
#: The number of keys that wait in memory.
_FRESH: Final = 200_000
#: The first bytes of a key that say on which page it is.
_PREFIX: Final = 4
_FEWEST_BITS: Final = 8


class Visited:
    """Numbers by key."""

    def __init__(self) -> None:
        self._fresh: dict[bytes, int] = {}
        self._pages: _Pages | None = None

    def get(self, key: bytes) -> int | None:
        """The number of a key; None where it was not added."""
        number = self._fresh.get(key)
        if number is None and self._pages is not None:
            return self._pages.get(key)
        return number

    def add(self, key: bytes, number: int) -> None:
        """Add a key that is not known."""
        self._fresh[key] = number
        if self._pages is not None and len(self._fresh) >= _FRESH:
            self._pages.add(self._fresh)
            self._fresh = {}

    def spill(self, directory: Path) -> None:
        """Move all keys to disk."""
        if self._pages is None:
            pages = _Pages(directory, len(self._fresh))
            keys = iter(self._fresh)
            while some := {key: self._fresh[key] for key in islice(keys, _FRESH)}:
                pages.add(some)
            self._pages, self._fresh = pages, {}


class _Pages:
    """Entries on pages by the first bits of their keys."""

    def __init__(self, directory: Path, count: int) -> None:
        """Make room for a number of entries. Raises ``NoRoom``."""
        self._directory = directory
        self._bits = _FEWEST_BITS
        while count >> self._bits > _MEAN:
            self._bits += 1
        self._shift = 8 * _PREFIX - self._bits
        self._file = MappedFile(directory, _PAGE << self._bits)
        self._map = self._file.map
        self._count = 0
        #: Entries whose page is full.
        self._overflow: dict[bytes, int] = {}

    def get(self, key: bytes) -> int | None:
        """The number of a key; None where it was not added."""
        begin = (int.from_bytes(key[:_PREFIX], "big") >> self._shift) * _PAGE
        page = self._map[begin : begin + _PAGE]
        at = page.find(key)
        while at >= 0:
            if at % _ENTRY == 0:
                return int.from_bytes(page[at + _KEY : at + _ENTRY], "big")
            at = page.find(key, at + 1)
        return self._overflow.get(key) if self._overflow else None

    def add(self, fresh: dict[bytes, int]) -> None:
        """Add keys that are not known. Raises ``NoRoom``, and then has added none of them."""
        bits = self._bits
        while (self._count + len(fresh)) >> bits > _MEAN:
            bits += 1
        if bits > self._bits:
            self._split(bits)
        self._append(sorted(key + number.to_bytes(8, "big") for key, number in fresh.items()))
        self._count += len(fresh)

    def _append(self, entries: list[bytes]) -> None:
        """Add sorted entries to their pages."""
        shift, last, begin = self._shift, (1 << self._bits) - 1, 0
        while begin < len(entries):
            page = int.from_bytes(entries[begin][:_PREFIX], "big") >> shift
            end = len(entries)
            if page < last:
                end = bisect_left(entries, (page + 1 << shift).to_bytes(_PREFIX, "big"), begin)
            self._put(page, entries[begin:end])
            begin = end

    def _put(self, page: int, entries: list[bytes]) -> None:
        start = page * _PAGE
        known = int.from_bytes(self._map[start + _PAGE - 2 : start + _PAGE], "big")
        room = _FULL - known
        for entry in entries[room:]:
            self._overflow[entry[:_KEY]] = int.from_bytes(entry[_KEY:], "big")
        put = b"".join(entries[:room])
        at = start + known * _ENTRY
        self._map[at : at + len(put)] = put
        self._map[start + _PAGE - 2 : start + _PAGE] = (known + len(entries[:room])).to_bytes(2, "big")

    def _split(self, bits: int) -> None:
        """Move all entries to a file with more pages."""
        before, pages = self._file, 1 << self._bits
        self._file = MappedFile(self._directory, _PAGE << bits)
        self._map, self._bits, self._shift = self._file.map, bits, 8 * _PREFIX - bits
        overflow, self._overflow = self._overflow, {}
        source, shift = before.map, self._shift
        for page in range(pages):
            start = page * _PAGE
            size = int.from_bytes(source[start + _PAGE - 2 : start + _PAGE], "big") * _ENTRY
            content = source[start : start + size]
            entries = sorted([content[at : at + _ENTRY] for at in range(0, size, _ENTRY)])
            for number, group in groupby(entries, lambda entry: int.from_bytes(entry[:_PREFIX], "big") >> shift):
                self._put(number, list(group))
        self._append(sorted(key + number.to_bytes(8, "big") for key, number in overflow.items()))
        before.close()
