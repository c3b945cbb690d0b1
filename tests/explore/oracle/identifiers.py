"""Real identifiers that can be told from other text, and the renaming under which two states are the same.

Every resourceVersion is a number of ten digits that starts with 7, and every uid, uuid and part of one (of four or
more characters from either end) holds a number that is written ``7e..``. Nothing else in a generated scenario looks
like that. They are never used twice, so equality means what it means in a cluster.

Two states are taken for one when they are equal after resourceVersions are replaced by their rank and identifiers by
the order of their first occurrence. That is sound for code that compares versions in any way and identifiers for
equality: there is then a bijection between the two states that such code cannot tell from the identity, and every step
of one is a step of the other. Objects are put in an order that does not look at identifiers first; where this still
leaves two forms of one state, the oracle visits both, which costs time and nothing else.
"""

from __future__ import annotations

import re
from typing import Final

from rpds import HashTrieMap

from kontend.cluster.startup.seed import empty_state, seed
from kontend.cluster.state import State

FIRST_VERSION: Final = 7_000_000_000
_LIMIT: Final = 256
_MASK: Final = re.compile(r"7e[0-9a-f]{2}|7\d{9}|‹[0-9]+›")
_VERSION: Final = re.compile(r"7\d{9}")
_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


class TooMany(Exception):
    """More identifiers were used than the oracle can tell apart."""


def numbered(state: State, issued: int) -> State:
    """A state whose next uid is the one with this number."""
    if issued >= _LIMIT:
        raise TooMany
    return state.replace(serial=_serial(issued) - 1)


def used(state: State, issued: int) -> int:
    """The number of identifiers that were taken from a state that was :func:`numbered`."""
    return state.serial - (_serial(issued) - 1)


def _serial(issued: int) -> int:
    return ((0x7E00 + issued) << 16) + 0x7E00 + issued


def suffix(state: State, serial: int) -> str:
    """The suffix of a generated name that a serial number stands for."""
    return state.replace(serial=serial - 1).next_suffix()[1]


def empty() -> tuple[State, int]:
    """A cluster with nothing but the namespaces that every cluster has, and how many identifiers it took."""
    state = empty_state().replace(kinds=HashTrieMap(), resource_version=FIRST_VERSION, newest=None, stretch=0)
    for issued, name in enumerate(_NAMESPACES):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        state = seed(numbered(state, issued), namespace, manager="kube-apiserver")
    return state.replace(floor=FIRST_VERSION), len(_NAMESPACES)


def masked(text: str) -> str:
    """Text without its identifiers, to sort by."""
    return _MASK.sub("7", text)


def mark_suffixes(text: str, suffixes: tuple[str, ...]) -> str:
    """Text with the suffixes of generated names marked as identifiers."""
    for index, suffix_text in enumerate(suffixes):
        if suffix_text in text:
            text = text.replace(suffix_text, f"‹{index}›")
    return text


def renamed(text: str) -> str:
    """Text with versions by rank and identifiers by first occurrence."""
    ranks = {version: f"v{rank}" for rank, version in enumerate(sorted(set(_VERSION.findall(text))))}
    names: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        token = match.group()
        rank = ranks.get(token)
        return rank if rank is not None else names.setdefault(token, f"i{len(names)}")

    return _MASK.sub(name, text)
