"""Final states, made comparable: everything that a run has made up is replaced by what it stands for.

A uid, an address or a generated name differs from run to run without mattering, wherever it appears: in a reference,
in a label, within another name. So each is replaced by the object that it belongs to, which keeps references
comparable: an endpoint with the address of the wrong pod still differs. Timestamps and uuids become a word, and an
observed generation its distance from the current one. What unperturbed runs still disagree on is learned as a
:class:`Mask`. Leases and events do not count, nor does what the cluster's own controllers derive from objects that are
compared (:mod:`~kontend.live.properties.derived`).
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import orjson

from kontend.cluster.state import State, Version
from kontend.kube.meta.names import Key
from kontend.live.gate.call import UNJUDGED
from kontend.live.gate.election import elects
from kontend.live.gate.perturbation import TOUCHED
from kontend.live.properties.derived import is_derived, notes_of
from kontend.live.runs.setting import PRIMARY, SECOND

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)")
#: An address of the range from which pods and services get theirs.
_ADDRESS: Final = re.compile(r"(?<![\w.-])10\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\w.-])")
#: Keys and certificates, also as data of a Secret: whoever makes one draws it.
_PEM: Final = re.compile(r"-----BEGIN ([A-Z ]+)-----")
_PEM_AS_DATA: Final = "LS0tLS1CRUdJTi"
#: The letters of base64 in which the first line of a key or a certificate is.
_HEADER: Final = 80
#: Versions from this one on are taken for versions wherever they appear: no replicas, ports or sizes are so large.
FIRST_VERSION: Final = 1_000_000
_NUMBER: Final = re.compile(r"(?<![\w.])\d{7,}(?![\w.])")
#: Metadata that every write changes, or that says who wrote.
_DROPPED: Final = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink")
#: Resources of the server itself.
_SERVER: Final = frozenset({"apiservices.apiregistration.k8s.io"})
_VARIES: Final = "<varies>"
_VERSION: Final = "<version>"
#: In the path of a masked field: every element of a list.
EACH: Final = "[]"
#: The shortest beginning of a uid that is taken for one within another text.
_SHORT_UID: Final = 8


class Objects(dict[tuple[str, str], list[dict[str, Any]]]):
    """Masked objects by resource and masked name; ``derived`` are those that only count where others are compared.

    An object that the operator touches in one run is compared with what it is in another, where it is only derived.
    """

    derived: Mapping[tuple[str, str], list[dict[str, Any]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Mask:
    """Differences between unperturbed runs: prefixes of names by resource, and fields by resource."""

    prefixes: frozenset[tuple[str, str]] = frozenset()
    fields: frozenset[tuple[str, tuple[str, ...]]] = frozenset()


NO_MASK: Final = Mask()


@dataclass(slots=True)
class _Names:
    """The uids, names and addresses that a run has made up, and what stands for them."""

    by_uid: dict[str, str] = field(default_factory=dict)
    masked: dict[str, str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    #: The resourceVersions of the run. Controllers copy them into labels and annotations, to see what is older.
    versions: range = range(0)
    #: Finds made-up names and the beginnings of uids within a text, the longest first.
    _within: re.Pattern[str] | None = None
    _tokens: dict[str, str] = field(default_factory=dict)

    def settle(self) -> None:
        """Note that all names are known."""
        short = {uid[:_SHORT_UID]: title for uid, title in self.by_uid.items() if len(uid) > _SHORT_UID}
        self._tokens = {**short, **self.masked}
        known = sorted(self._tokens, key=len, reverse=True)
        self._within = re.compile("|".join(map(re.escape, known))) if known else None

    def in_text(self, text: str) -> str:
        """Return a text with what stands for uids, times, addresses and names in it."""
        if text in self.masked:
            return self.masked[text]
        drawn = _PEM.match(_decoded(text) if text.startswith(_PEM_AS_DATA) else text)
        if drawn is not None:
            return f"<{drawn[1].lower()}>"
        text = _UUID.sub(lambda match: self.by_uid.get(match[0], "<uuid>"), text)
        text = _TIME.sub("<time>", text)
        text = _NUMBER.sub(lambda match: _VERSION if int(match[0]) in self.versions else match[0], text)
        text = _ADDRESS.sub(lambda match: self.addresses.get(match[0], "<address>"), text)
        if self._within is not None:
            text = self._within.sub(lambda match: self._tokens[match[0]], text)
        return text


def comparable(initial: State, state: State, mask: Mask = NO_MASK) -> Objects:
    """Return the objects of a state, masked, by resource and masked name.

    Objects with the same masked name are in one list, ordered by content.
    """
    objects = []
    derived: set[tuple[str, Key]] = set()
    by_title: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    uids = {
        str(version.content()["metadata"].get("uid", ""))
        for resource in state.kinds
        for version in state.objects(resource).values()
    }
    for resource in state.kinds:
        if resource in UNJUDGED or resource in _SERVER:
            continue
        for key, version in state.objects(resource).items():
            if elects(state, resource, key):
                continue
            first = initial.find(resource, key)
            if first is not None and first.body == version.body:
                by_title[resource, _title(key, key.name)].append(_unchanged(resource, version, mask))
            else:
                obj = version.content()
                objects.append((resource, key, obj))
                if is_derived(version, obj, uids):
                    derived.add((resource, key))
                _drop_notes(obj["metadata"], notes_of(version))
    names = _names_of(objects, mask)
    if initial.resource_version >= FIRST_VERSION:
        names.versions = range(initial.resource_version + 1, state.resource_version + 1)
    if any(key.name == SECOND for key in initial.objects("pods")):  # whoever took over has its name in locks
        names.masked[SECOND] = PRIMARY
    names.settle()
    left_out: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for resource, key, obj in objects:
        title = resource, _title(key, names.masked.get(key.name, key.name))
        chosen = left_out if (resource, key) in derived else by_title
        chosen[title].append(_clean(resource, obj, names, mask))
    for many in (*by_title.values(), *left_out.values()):
        if len(many) > 1:
            many.sort(key=lambda obj: orjson.dumps(obj, option=orjson.OPT_SORT_KEYS))
    made = Objects(by_title)
    made.derived = dict(left_out)
    return made


@lru_cache(maxsize=4096)
def _unchanged(resource: str, version: Version, mask: Mask) -> dict[str, Any]:
    """Return an object of the initial state, masked: it knows no names or uids that a run has made up.

    Every run begins with the same ones, and most change few of them.
    """
    obj = version.content()
    _drop_notes(obj["metadata"], notes_of(version))
    nothing = _Names()
    nothing.settle()
    return _clean(resource, obj, nothing, mask)


def _drop_notes(metadata: dict[str, Any], notes: Collection[str]) -> None:
    """Remove the annotations that the cluster's own controllers keep."""
    if notes:
        left = {name: value for name, value in (metadata.pop("annotations", None) or {}).items() if name not in notes}
        metadata.update({"annotations": left} if left else {})


def _names_of(objects: list[tuple[str, Key, dict[str, Any]]], mask: Mask) -> _Names:
    names = _Names()
    for resource, key, obj in objects:
        name = masked_name(resource, obj["metadata"], mask)
        if name != key.name:
            names.masked[key.name] = name
    made_up = sorted(names.masked, key=len, reverse=True)
    for _, key, _ in objects:  # names that derive from made-up ones, which may themselves be the beginning of others
        own = names.masked.get(key.name, key.name)
        for other in made_up:
            if other != key.name and _derives(key.name, other):
                names.masked[key.name] = own.replace(other, names.masked[other])
                break
    for _, key, obj in objects:
        title = f"{obj.get('kind')} {names.masked.get(key.name, key.name)}"
        names.by_uid[str(obj["metadata"].get("uid", ""))] = f"<uid of {title}>"
        for address in _addresses(obj):
            names.addresses.setdefault(address, f"<address of {title}>")
    return names


def _decoded(text: str) -> str:
    """Return the beginning of what a text in base64 says; the text itself if it is none."""
    try:
        return b64decode(text[:_HEADER]).decode("ascii", "replace")
    except NotBase64:
        return text


def _derives(name: str, other: str) -> bool:
    """Return whether a name has another one in it as a whole.

    >>> _derives("pool-x7f3k-metrics", "pool-x7f3k"), _derives("pool-x7f3kq", "pool-x7f3k")
    (True, False)
    """
    return re.search(rf"(?<![\w]){re.escape(other)}(?![\w])", name) is not None


def _addresses(obj: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses that the cluster has given an object."""
    spec, status = obj.get("spec"), obj.get("status")
    if obj.get("kind") == "Pod" and isinstance(status, Mapping):
        yield str(status.get("podIP", ""))
    if obj.get("kind") == "Service" and isinstance(spec, Mapping):
        yield str(spec.get("clusterIP", ""))


def title_of(resource: str, key: Key, metadata: Mapping[str, Any], mask: Mask) -> str:
    """Return the title by which differences name an object."""
    return f"{resource} {_title(key, masked_name(resource, {**metadata, 'name': key.name}, mask))}"


def _title(key: Key, name: str) -> str:
    return f"{key.namespace}/{name}" if key.namespace else name


def masked_name(resource: str, metadata: Mapping[str, Any], mask: Mask) -> str:
    """Return the name of an object, without what was made up for it."""
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
    _drop_versions(cleaned["metadata"])
    for kind, path in mask.fields:
        if kind == resource:
            _blank(cleaned, path)
    return cleaned  # type: ignore[no-any-return]


def _drop_versions(metadata: dict[str, Any]) -> None:
    """Remove the labels and annotations that are nothing but a version.

    They say when a controller has written the object, and which version it knew. An object that was written in another
    reconcile may have no such label, and is the same otherwise.
    """
    for part in ("labels", "annotations"):
        notes = metadata.get(part)
        if isinstance(notes, dict) and _VERSION in notes.values():
            metadata.pop(part)
            left = {name: value for name, value in notes.items() if value != _VERSION}
            metadata.update({part: left} if left else {})


def _masked(value: Any, names: _Names, generation: int | None) -> Any:
    if isinstance(value, dict):
        masked = {}
        for name, child in value.items():
            if name == TOUCHED or (isinstance(child, dict) and [*child] == [TOUCHED]):
                continue
            if name == "observedGeneration" and isinstance(child, int) and generation is not None:
                masked[name] = (
                    "<current generation>" if child == generation else f"<{generation - child} generations old>"
                )
            elif name == "resourceVersion" and isinstance(child, str):
                masked[name] = _VERSION  # it counts the writes of all others too
            else:
                masked[names.masked.get(name, name)] = _masked(child, names, generation)
        return masked
    if isinstance(value, list):
        return [_masked(item, names, generation) for item in value]
    if isinstance(value, int) and value in names.versions:
        return _VERSION
    return names.in_text(value) if isinstance(value, str) else value


def _blank(obj: Any, path: tuple[str, ...]) -> None:
    """Replace a field."""
    step, *rest = path
    if step == EACH:
        for index, item in enumerate(obj) if isinstance(obj, list) else ():
            if rest:
                _blank(item, tuple(rest))
            else:
                obj[index] = _VARIES
    elif isinstance(obj, dict) and step in obj:
        if rest:
            _blank(obj[step], tuple(rest))
        else:
            obj[step] = _VARIES
