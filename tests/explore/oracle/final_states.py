"""Clusters at rest, compared up to the names of versions, uids and generated names.

Left out are the resourceVersion, the managed fields and the generation of each object: they count writes. An observed
generation is compared by how far it is behind. A resourceVersion in the text of an object is the current one of some
object, or an old one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from explore.oracle.identifiers import mark_suffixes
from kontend.cluster.state import State

_UID: Final = re.compile(r"(7e[0-9a-f]{2})(7e[0-9a-f]{2})-0000-4000-8000-0000\1\2")
_HOLE: Final = re.compile(r"⟦[^⟧]*⟧")


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
            str(version.resource_version): f"⟦version of {resource} {key.namespace} {key.name}⟧"
            for resource, objects in state.kinds.items()
            for key, version in objects.items()
        }
        lines = []
        for line in plain_objects(state):
            line = re.sub(r"7\d{9}", lambda match: current.get(match.group(), f"⟦old {match.group()}⟧"), line)
            line = _UID.sub(r"⟦uid \1\2⟧", line)
            line = re.sub(r"(?<!⟦uid )(?<!⟦uid ....)7e[0-9a-f]{2}", lambda match: f"⟦part {match.group()}⟧", line)
            lines.append(re.sub(r"‹(\d+)›", r"⟦suffix \1⟧", mark_suffixes(line, suffixes)))
        lines.sort(key=lambda line: (_HOLE.sub("⟦⟧", line), line))
        names: dict[str, str] = {}
        text = _HOLE.sub(lambda match: names.setdefault(match.group(), f"⟦{len(names)}⟧"), "\n".join(lines))
        return cls(tuple(lines), text)

    def matches(self, state: State) -> bool:
        """Whether a state of the explorer is the same, for some names in place of those of the oracle."""
        others = list(plain_objects(state))
        return len(others) == len(self.objects) and _match(list(self.objects), others, {})


def plain_objects(state: State) -> Iterator[str]:
    """The objects of a cluster without what only counts writes."""
    for resource, objects in state.kinds.items():
        for _, version in objects.items():
            yield f"{resource} " + orjson.dumps(_plain(version.content()), option=orjson.OPT_SORT_KEYS).decode()


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
    """Whether objects with holes can be paired with objects so that equal holes, and only those, have equal names."""
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
            parts.append(f'(?P<h{len(holes)}>[^"]+?)')
            holes.append(hole)
    parts.append(re.escape(text[end:]))
    return re.compile("".join(parts)), holes
