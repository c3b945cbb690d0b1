"""Canonical forms: when two clusters are the same up to names that were made up on the way.

uids, generated uuids, generated names and resourceVersions that user code has stored differ from run to run without
meaning anything, and generations only count writes. Final states are compared without them: each made-up name is
replaced by its place in the structure. Two forms are equal exactly when one cluster can be turned into the other by
renaming.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson
import xxhash

from kontend.cluster.state import State, Version
from kontend.explore.model.state.collection import lasting_objects
from kontend.explore.model.state.ignored import NOTHING, Ignored
from kontend.explore.model.state.world import World
from kontend.explore.program.identities import DERIVED_UUIDS, IDENTITIES, TIMES, VERSIONS, issued_identities
from kontend.explore.program.masking import masked, relative_body
from kontend.kube.apply import managed_fields
from kontend.kube.meta.names import Key

_CACHED: Final = 100_000
#: Parts of identities that are shorter could stand in any text by chance; those of this length count as whole words.
_SHORTEST: Final = 4
_WORD: Final = rb"(?<![0-9A-Za-z])%s(?![0-9A-Za-z])"
#: Identities as keys.
_KEYS: Final = re.compile(b'"(?:%s|%s)":' % (IDENTITIES.pattern, DERIVED_UUIDS.pattern))
_WORDS: Final = re.compile(_WORD % rb"[0-9a-f]{4}")


def canonical_cluster(state: State, identities: Iterable[str] = (), ignored: Ignored = NOTHING) -> bytes:
    """128 bits for a cluster up to renaming, without generations and managed fields, and without what is ``ignored``.

    ``identities`` were handed out on the way: parts of them, which code may have cut off, are made up, too.
    """
    lines = [
        line
        for resource, key, version in lasting_objects(state, garbage=not ignored.garbage)
        for line in _lines_of(f"{resource} {Key(*key)} ".encode(), relative_body(ignored.without(version.body)))
    ]
    names = generated_names(state)
    names |= _parts(lines, identities)
    return xxhash.xxh3_128_digest(canonical_form(lines, names))


def final_form(world: World, ignored: Ignored) -> bytes:
    """The canonical form of the cluster of a state."""
    return canonical_cluster(world.state, issued_identities(world.issued.items()), ignored)


def _lines_of(name: bytes, body: bytes) -> list[bytes]:
    """An object as a line, and a line for each entry of a mapping whose key is an identity.

    The fields of an object are sorted, and the values of identities would decide which of two entries comes first.
    """
    if not _KEYS.search(body):
        return [name + body]
    entries: list[tuple[list[str | int], Any]] = []

    def rest(value: Any, path: list[str | int]) -> Any:
        if isinstance(value, list):
            return [rest(child, [*path, at]) for at, child in enumerate(value)]
        if not isinstance(value, dict):
            return value
        left = {}
        for key, child in value.items():
            inner = rest(child, [*path, key])
            if _KEYS.fullmatch(f'"{key}":'.encode()):
                entries.append(([*path, key], inner))
            else:
                left[key] = inner
        return left

    whole = orjson.dumps(rest(orjson.loads(body), []))
    return [name + whole, *(name + orjson.dumps(entry) for entry in entries)]


def _parts(lines: Iterable[bytes], identities: Iterable[str]) -> set[bytes]:
    """The parts of identities that stand in some lines: starts and ends, the longest that stand in a place."""
    parts = set()
    rest = b"\n".join([_without_identities(line) for line in lines])
    shortest = set()
    for identity in identities:
        plain = identity.replace("-", "").encode()
        stands = plain[: _SHORTEST + 1] in rest or plain[-_SHORTEST - 1 :] in rest
        for size in range(len(plain), _SHORTEST, -1) if stands else ():
            for part in (plain[:size], plain[-size:]):
                if part in rest:
                    parts.add(part)
                    rest = rest.replace(part, b" ")
        shortest |= {plain[:_SHORTEST], plain[-_SHORTEST:]}
    found = {part for part in shortest if part in rest}
    return parts | found.intersection(_WORDS.findall(rest)) if found else parts


@lru_cache(maxsize=10_000)
def _without_identities(line: bytes) -> bytes:
    """A line without whole identities and times."""
    return TIMES.sub(b" ", IDENTITIES.sub(b" ", line))


def generated_names(state: State) -> set[bytes]:
    """The names that the server has made up from ``generateName``."""
    names = set()
    for resource in state.kinds:
        for key, version in state.objects(resource).items():
            if b'"generateName"' in version.body:
                prefix = str(orjson.loads(version.body)["metadata"].get("generateName") or "")
                if prefix and key.name.startswith(prefix) and key.name != prefix:
                    names.add(key.name.encode())
    return names


# Masked digests


_MASKED: Final[dict[bytes, bytes]] = {}


def masked_digest(version: Version) -> bytes:
    """128 bits for an object without its generation and with all identities masked."""
    digest = _MASKED.get(version.digest)
    if digest is None:
        body = masked(relative_body(version.body))
        digest = xxhash.xxh3_128_digest(body + managed_fields.encode_json(version.managed))
        if len(_MASKED) > _CACHED:
            _MASKED.clear()
        _MASKED[version.digest] = digest
    return digest


# Canonical labelling


def canonical_form(lines: Iterable[bytes], names: Iterable[bytes] = ()) -> bytes:
    """Lines in which every made-up name is replaced by a canonical number, sorted. All times are the same.

    >>> one = canonical_form([b"a 00000001-0000-4000-8000-000000000001", b"b 00000002-0000-4000-8000-000000000002"])
    >>> two = canonical_form([b"b 00000001-0000-4000-8000-000000000001", b"a 00000007-0000-4000-8000-000000000007"])
    >>> one == two
    True
    """
    ordered = sorted(names, key=lambda name: (-len(name), name))
    made_up = b"|".join(_WORD % name if len(name) == _SHORTEST else re.escape(name) for name in ordered)
    return _Labelling([_line(line, made_up) for line in lines]).form()


#: A line: the text between its symbols, and the symbols.
_Line = tuple[list[bytes], list[bytes]]


@lru_cache(maxsize=10_000)
def _line(line: bytes, made_up: bytes) -> _Line:
    """A line with all times the same; ``made_up`` is the pattern of names that are symbols, too."""
    symbols = re.compile(
        b"|".join(filter(None, (IDENTITIES.pattern, DERIVED_UUIDS.pattern, VERSIONS.pattern, made_up)))
    )
    text = TIMES.sub(b"<time>", line)
    return symbols.split(text), symbols.findall(text)


class _Labelling:
    """Gives the symbols of some lines numbers that do not depend on what the symbols are."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines = lines
        self._where: dict[bytes, list[int]] = {}
        for at, (_, symbols) in enumerate(lines):
            for symbol in dict.fromkeys(symbols):
                self._where.setdefault(symbol, []).append(at)

    def form(self) -> bytes:
        """The canonical form."""
        return self._smallest(dict.fromkeys(self._where, 0))

    def _smallest(self, colours: dict[bytes, int]) -> bytes:
        colours = self._refined(colours)
        classes: dict[int, list[bytes]] = {}
        for symbol, colour in colours.items():
            classes.setdefault(colour, []).append(symbol)
        tied = next((classes[colour] for colour in sorted(classes) if len(classes[colour]) > 1), None)
        if tied is None:
            return b"\n".join(sorted(self._written(line, colours) for line in self._lines))
        # Symbols that can be swapped without changing anything lead to the same form: one of them is enough.
        representatives: list[bytes] = []
        for symbol in tied:
            if not any(self._is_swappable(symbol, other, colours) for other in representatives):
                representatives.append(symbol)
        top = max(colours.values()) + 1
        return min(self._smallest({**colours, symbol: top}) for symbol in representatives)

    def _refined(self, colours: dict[bytes, int]) -> dict[bytes, int]:
        """Tell symbols apart by the lines they stand in, until nothing new is found."""
        count = len(set(colours.values()))
        while True:
            signatures = {
                symbol: (colours[symbol], sorted(self._written(self._lines[at], colours, symbol) for at in where))
                for symbol, where in self._where.items()
            }
            order = sorted({(colour, *texts) for colour, texts in signatures.values()})
            numbers = {signature: number for number, signature in enumerate(order)}
            colours = {symbol: numbers[colour, *texts] for symbol, (colour, texts) in signatures.items()}
            if len(order) in (count, len(colours)):  # nothing new was found, or there is nothing left to tell apart
                return colours
            count = len(order)

    def _written(self, line: _Line, colours: dict[bytes, int], marked: bytes = b"") -> bytes:
        texts, symbols = line
        written = [texts[0]]
        for text, symbol in zip(texts[1:], symbols, strict=True):
            written.append(b"#*" if symbol == marked else b"#%d" % colours[symbol])
            written.append(text)
        return b"".join(written)

    def _is_swappable(self, one: bytes, other: bytes, colours: Mapping[bytes, int]) -> bool:
        """Return True if the lines stay the same when ``one`` and ``other`` change places.

        An object has several symbols of its own, its name and its uid, which change places together: those at the same
        positions of a line with the one and a line with the other.
        """
        line, counterpart = self._lines[self._where[one][0]], self._lines[self._where[other][0]]
        if line[0] != counterpart[0]:
            return False
        swap: dict[bytes, bytes] = {}
        for symbol, partner in zip(line[1], counterpart[1], strict=True):
            if swap.setdefault(symbol, partner) != partner or swap.setdefault(partner, symbol) != symbol:
                return False
            if colours[symbol] != colours[partner]:
                return False
        if swap.get(one) != other:
            return False
        where = {at for symbol in swap for at in self._where[symbol]}
        before = Counter((tuple(self._lines[at][0]), tuple(self._lines[at][1])) for at in where)
        after = Counter(
            (tuple(self._lines[at][0]), tuple(swap.get(symbol, symbol) for symbol in self._lines[at][1]))
            for at in where
        )
        return before == after
