"""Clusters at rest, compared up to the names of versions, uids and generated names.

Left out are objects that a garbage collector would delete, and the resourceVersion, the managed fields and the
generation of each object: they count writes. An observed generation is compared by how far it is behind. A
resourceVersion in the text of an object is the current one of some object, or an old one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from explore.oracle.identifiers import mark_suffixes
from kontend.cluster.state import State

_TOKEN: Final = re.compile(
    r"(?P<uid>((?:7e[0-9a-f]{2}){2})-0000-4000-8000-0000\2)|(?P<part>(?:7e[0-9a-f]{2})+)|(?P<version>7\d{9})"
    r"|(?P<suffix>‹\d+›)"
)
#: Times are not compared: a perturbed run takes longer.
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_HOLE: Final = re.compile(r"⟦[^⟧]*⟧")
_CURRENT: Final = "current version of"
#: What can stand in the place of an identifier, by the first word of its hole.
_IDENTIFIERS: Final = {
    "uid": "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "part": "[0-9a-f-]+?",
    "version": "[0-9]+",
    "suffix": "[0-9a-z]+?",
    "current": "[0-9]+",
}


@dataclass(frozen=True, slots=True)
class FinalState:
    """A cluster at rest."""

    #: One text for each object, with ``⟦…⟧`` in place of identifiers.
    objects: tuple[str, ...]
    #: The canonical form: equal for two clusters that differ in identifiers only.
    text: str

    @classmethod
    def of(cls, state: State, suffixes: tuple[str, ...]) -> FinalState:
        """The final form of a state of the oracle."""
        current = {
            str(version.resource_version): mark_suffixes(f"⟦{_CURRENT} {resource} {key}⟧", suffixes)
            for resource, objects in state.kinds.items()
            for key, version in objects.items()
        }

        def hole(match: re.Match[str]) -> str:
            return current.get(match.group()) or f"⟦{match.lastgroup} {match.group()}⟧"

        lines = [_TOKEN.sub(hole, mark_suffixes(line, suffixes)) for line in plain_objects(state)]
        lines.sort(key=lambda line: (_HOLE.sub("⟦⟧", line), line))
        names: dict[str, str] = {}

        def name(match: re.Match[str]) -> str:
            found = match.group()
            return found if _CURRENT in found else names.setdefault(found, f"⟦{len(names)}⟧")

        return cls(tuple(lines), _HOLE.sub(name, "\n".join(lines)))

    def matches(self, state: State) -> bool:
        """A state of the explorer is the same, for some names in place of those of the oracle."""
        others = list(plain_objects(state))
        return len(others) == len(self.objects) and _match(list(self.objects), others, {})


def specs(state: State, suffixes: tuple[str, ...]) -> dict[str, str]:
    """All but the metadata and the status of each object that has a name of its own, without identifiers."""
    found = {}
    for resource, objects in state.kinds.items():
        for key, version in objects.items():
            name = mark_suffixes(f"{resource} {key}", suffixes)
            if _TOKEN.search(name):
                continue
            spec = {part: value for part, value in version.content().items() if part not in ("metadata", "status")}
            text = mark_suffixes(orjson.dumps(spec, option=orjson.OPT_SORT_KEYS).decode(), suffixes)
            found[name] = _TIME.sub("a time", _TOKEN.sub("⟦⟧", text))
    return found


def plain_objects(state: State) -> Iterator[str]:
    """The objects of a cluster without what only counts writes, and without those that lose all their owners."""
    objects = [
        (resource, version.content()) for resource, objects in state.kinds.items() for _, version in objects.items()
    ]
    kept: list[tuple[str, dict[str, Any]]] = []
    while len(kept) != len(objects):
        kept, objects = objects, [(resource, obj) for resource, obj in objects if not _is_garbage(obj, objects)]
    for resource, obj in objects:
        text = orjson.dumps(_plain(obj), option=orjson.OPT_SORT_KEYS).decode()
        yield f"{resource} {_TIME.sub('a time', text)}"


def _is_garbage(obj: dict[str, Any], others: list[tuple[str, dict[str, Any]]]) -> bool:
    metadata = obj["metadata"]
    owners = {owner["uid"] for owner in metadata.get("ownerReferences") or ()}
    alive = {other["metadata"].get("uid") for _, other in others}
    return bool(owners) and not owners & alive and not metadata.get("finalizers")


def _plain(obj: dict[str, Any]) -> dict[str, Any]:
    generation = obj["metadata"].pop("generation", None)
    status = obj.get("status")
    if generation is not None and isinstance(status, dict):
        conditions = status.get("conditions")
        for holder in (status, *(conditions if isinstance(conditions, list) else ())):
            observed = holder.get("observedGeneration") if isinstance(holder, dict) else None
            if isinstance(observed, int) and not isinstance(observed, bool):
                holder["observedGeneration"] = f"{generation - observed} behind"
    return obj


def _match(wanted: list[str], others: list[str], names: dict[str, str]) -> bool:
    """Objects with holes can be paired with objects so that equal holes, and only those, have equal names."""
    if not wanted:
        return True
    pattern, holes = _pattern(wanted[0], names)
    for index, other in enumerate(others):
        match = pattern.fullmatch(other)
        if match is None:
            continue
        bound = {**names, **{hole: match.group(f"h{number}") for number, hole in enumerate(holes)}}
        if len(set(bound.values())) == len(bound) and _match(wanted[1:], others[:index] + others[index + 1 :], bound):
            return True
    return False


def _pattern(text: str, names: dict[str, str]) -> tuple[re.Pattern[str], list[str]]:
    holes: list[str] = []
    parts = []
    end = 0
    for match in _HOLE.finditer(text):
        parts.append(re.escape(text[end : match.start()]))
        hole = match.group()
        end = match.end()
        if hole in names:
            parts.append(re.escape(names[hole]))
        elif hole in holes:
            parts.append(f"(?P=h{holes.index(hole)})")
        else:
            parts.append(f"(?P<h{len(holes)}>{_IDENTIFIERS[hole[1:].split()[0]]})")
            holes.append(hole)
    parts.append(re.escape(text[end:]))
    return re.compile("".join(parts)), holes
