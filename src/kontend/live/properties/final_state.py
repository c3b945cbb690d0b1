"""Final states, made comparable: what differs between any two runs is masked, the rest must be the same.

uids are replaced by the objects that they name, generated names by their prefix, timestamps and uuids by a word, and an
observed generation by its distance from the current one. What two unperturbed runs still disagree on is learned as a
:class:`Mask`. Leases and events do not count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from kontend.cluster.state import State
from kontend.explore.properties.overwrites import Path, changed, path_text
from kontend.kube.meta.names import Key
from kontend.live.gate.call import UNJUDGED

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)")
#: Metadata that every write changes, or that says who wrote.
_DROPPED: Final = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink")
#: Resources of the server itself.
_SERVER: Final = frozenset({"apiservices.apiregistration.k8s.io"})
_VARIES: Final = "<varies>"
#: Numbers below are decisions (replicas, indices), not times or ports. Strings below this length are words.
_SMALL: Final = 1000
_TOKEN: Final = 5
#: Masked objects by resource and masked name.
Objects = dict[tuple[str, str], list[dict[str, Any]]]


class Difference(NamedTuple):
    """One field in which two final states differ; None is nothing."""

    object: str
    path: str
    got: Any
    expected: Any

    def __str__(self) -> str:
        place = f"{self.object} {self.path}".rstrip()
        if self.expected is None:
            return f"{place}: {short(self.got)}, which no unperturbed run has"
        if self.got is None:
            return f"{place}: missing; expected {short(self.expected)}"
        return f"{place}: {short(self.got)} instead of {short(self.expected)}"


@dataclass(frozen=True, slots=True)
class Mask:
    """Differences between unperturbed runs: prefixes of names by resource, and fields by resource."""

    prefixes: frozenset[tuple[str, str]] = frozenset()
    fields: frozenset[tuple[str, str]] = frozenset()


_NO_MASK: Final = Mask()


@dataclass(slots=True)
class _Names:
    """The objects of a state by uid, and the masked names by real ones."""

    by_uid: dict[str, str] = field(default_factory=dict)
    masked: dict[str, str] = field(default_factory=dict)


def comparable(initial: State, state: State, mask: Mask = _NO_MASK) -> Objects:
    """Return the objects of a state, masked, by resource and masked name.

    Objects with the same masked name are in one list, ordered by content. Those that are as they were in the initial
    state are not compared field by field.
    """
    objects = []
    by_title: Objects = defaultdict(list)
    for resource in state.kinds:
        if resource in UNJUDGED or resource in _SERVER:
            continue
        for key, version in state.objects(resource).items():
            first = initial.find(resource, key)
            if first is not None and first.body == version.body:
                by_title[resource, _title(key, key.name)].append({"as": "at the start"})
            else:
                objects.append((resource, key, version.content()))
    names = _Names()
    for resource, key, obj in objects:
        name = _masked_name(resource, obj["metadata"], mask)
        if name != key.name:
            names.masked[key.name] = name
        names.by_uid[str(obj["metadata"].get("uid", ""))] = f"<uid of {obj.get('kind')} {name}>"
    for resource, key, obj in objects:
        clean = _clean(resource, obj, names, mask)
        by_title[resource, _title(key, names.masked.get(key.name, key.name))].append(clean)
    for many in by_title.values():
        many.sort(key=lambda obj: orjson.dumps(obj, option=orjson.OPT_SORT_KEYS))
    return dict(by_title)


def title_of(resource: str, key: Key, metadata: Mapping[str, Any], mask: Mask) -> str:
    """Return the title by which differences name an object."""
    return f"{resource} {_title(key, _masked_name(resource, {**metadata, 'name': key.name}, mask))}"


def _title(key: Key, name: str) -> str:
    return f"{key.namespace}/{name}" if key.namespace else name


def _masked_name(resource: str, metadata: Mapping[str, Any], mask: Mask) -> str:
    name = str(metadata["name"])
    prefix = metadata.get("generateName")
    if isinstance(prefix, str) and prefix and name.startswith(prefix):
        return f"{prefix}*"
    for kind, start in mask.prefixes:
        if kind == resource and name.startswith(start):
            return f"{start}*"
    return name


def _clean(resource: str, obj: dict[str, Any], names: _Names, mask: Mask) -> dict[str, Any]:
    generation = obj["metadata"].get("generation")
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _DROPPED}
    cleaned = _masked({**obj, "metadata": metadata}, names, generation if isinstance(generation, int) else None)
    for kind, path in mask.fields:
        if kind == resource:
            _blank(cleaned, path.split("\0"))
    return cleaned  # type: ignore[no-any-return]


def _masked(value: Any, names: _Names, generation: int | None) -> Any:
    if isinstance(value, dict):
        masked = {}
        for name, child in value.items():
            if name == "observedGeneration" and isinstance(child, int) and generation is not None:
                masked[name] = (
                    "<current generation>" if child == generation else f"<{generation - child} generations old>"
                )
            else:
                masked[names.masked.get(name, name)] = _masked(child, names, generation)
        return masked
    if isinstance(value, list):
        return [_masked(item, names, generation) for item in value]
    return _masked_text(value, names) if isinstance(value, str) else value


def _masked_text(text: str, names: _Names) -> str:
    if text in names.masked:
        return names.masked[text]
    text = _UUID.sub(lambda match: names.by_uid.get(match[0], "<uuid>"), text)
    text = _TIME.sub("<time>", text)
    for name, masked in names.masked.items():
        if name in text:
            text = text.replace(name, masked)
    return text


def _blank(obj: Any, path: list[str]) -> None:
    """Replace a field; a field of a list that varies is replaced with its list."""
    for index, step in enumerate(path):
        if not isinstance(obj, dict) or step not in obj:
            return
        if index == len(path) - 1 or not isinstance(obj[step], dict):
            obj[step] = _VARIES
            return
        obj = obj[step]


# Comparing


def differences(got: Objects, expected: Objects) -> list[Difference]:
    """Return the fields in which two comparable states differ."""
    return list(_differences(got, expected))


def same(one: Objects, other: Objects) -> bool:
    """Return whether two comparable states agree; the order of named elements in a list does not count."""
    return one == other or not differences(one, other)


def _differences(got: Objects, expected: Objects) -> Iterator[Difference]:
    for key in sorted({*got, *expected}):
        title = f"{key[0]} {key[1]}"
        mine, theirs = _apart(got.get(key, []), expected.get(key, []))
        for left, right in zip(mine, theirs, strict=False):
            for path in changed(right, left):
                yield Difference(title, path_text(path), value_at(left, path), value_at(right, path))
        many = f" ({len(got.get(key, []))} of them)" if len(got.get(key, [])) > 1 else ""
        for left in mine[len(theirs) :]:
            yield Difference(title + many, "", left, None)
        for right in theirs[len(mine) :]:
            yield Difference(title, "", None, right)


def _apart(mine: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Drop what two lists have in common."""
    rest = list(theirs)
    left = []
    for obj in mine:
        if obj in rest:
            rest.remove(obj)
        else:
            left.append(obj)
    return left, rest


def value_at(obj: Any, path: Path) -> Any:
    """Return the field at a path; None where there is none."""
    for step in path:
        if isinstance(obj, dict):
            obj = obj.get(str(step))
        elif isinstance(obj, list) and not isinstance(step, str):
            obj = next((item for item in obj if step.value == (item.get(step.key) if step.key else item)), None)
        else:
            return None
    return obj


def short(value: Any) -> str:
    """Return a value as JSON, cut off where it is long."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return text if len(text) <= 120 else text[:117] + "..."


# Learning


def learn(initial: State, finals: Sequence[State]) -> Mask:
    """Learn from the final states of unperturbed runs what differs anyway: made-up names and made-up values."""
    prefixes = _prefixes([comparable(initial, final) for final in finals])
    first, *others = [comparable(initial, final, Mask(prefixes)) for final in finals]
    fields: set[tuple[str, str]] = set()
    for other in others:
        for key in set(first) & set(other):
            mine, theirs = _apart(first[key], other[key])
            for left, right in zip(mine, theirs, strict=False):
                for path in changed(left, right):
                    if _made_up(value_at(left, path), value_at(right, path)):
                        fields.add((key[0], "\0".join(_plain(path))))
    return Mask(prefixes, frozenset(fields))


def _made_up(one: Any, other: Any) -> bool:
    """Return whether two values look as if they were drawn, counted or measured rather than decided.

    >>> _made_up("x7f3kq", "b42mzz"), _made_up(1718, 1722), _made_up("Ready", "Pending"), _made_up(None, "x")
    (True, True, False, False)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    if isinstance(one, int | float) and isinstance(other, int | float):
        return min(one, other) >= _SMALL
    if not isinstance(one, str) or not isinstance(other, str):
        return False
    return len(one) == len(other) >= _TOKEN and any(letter.isdigit() for letter in one + other)


def _plain(path: Path) -> list[str]:
    """The way to a field, up to the first list."""
    steps: list[str] = []
    for step in path:
        if not isinstance(step, str):
            break
        steps.append(step)
    return steps


def _prefixes(states: list[Objects]) -> frozenset[tuple[str, str]]:
    """The beginnings of names that a process makes up: equally many in each run, none of them the same."""
    names = [{key for key in state if not key[1].endswith("*")} for state in states]
    common = set.intersection(*names) if names else set()
    own = [sorted(own_names - common) for own_names in names]
    generated = set()
    if own and own[0] and all(len(own_names) == len(own[0]) for own_names in own):
        for together in zip(*own, strict=True):
            resources = {resource for resource, _ in together}
            prefix = _common_prefix([name.rpartition("/")[2] for _, name in together])
            if len(resources) == 1 and prefix:
                generated.add((together[0][0], prefix))
    return frozenset(generated)


def _common_prefix(texts: list[str]) -> str:
    shortest = min(texts, key=len)
    for index, letter in enumerate(shortest):
        if any(text[index] != letter for text in texts):
            prefix = shortest[:index]
            cut = max(prefix.rfind("-"), prefix.rfind("."))
            return prefix[: cut + 1] if cut > 0 else prefix
    return shortest
