"""Built-in properties of single writes.

A reconcile reads, time passes, it writes. Others may have written in between, and that shows in the write itself:

- *wrong object*: the write hit an object of the same name, but with another uid than any that was read. Nothing else is
  reported of such a write: what the object had was not lost, it never was the object that the writer meant.
- *wrong owner*: a delete hit an object that belongs to another owner than the one that was read: that one is gone, and
  an object of the same name has taken its place.
- *vanished element*: the write removed an element of a list that another client had added since the read.
- *lost update*: the write changed any other field that another client had changed since the read. A vanished element is
  the lost update of an element, reported under its own name only; one write can do both, to different fields.
- *observed generation*: the write claims a generation as observed that the reconcile never read.

A reconcile has read all versions that its run has met, responses to its own writes included. The newest of them counts:
a reconcile that has read a change and takes it back does so on purpose.

A controller that runs alone may overwrite a field that only it writes: from a cache that does not show its own last
write it draws its conclusion once more, and the newer one counts. A value with a uuid in it is no conclusion, though:
others may know the thing by it already.

This runs for every write of a search. Most writers have read the version that they replace, which one comparison shows;
objects are parsed once for the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple, Protocol

import orjson

from kontend.cluster.state import Change, State, Version
from kontend.explore.properties.authors import author_of, creator_of
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.overwrites import Element, Overwrite, Path, changed, overwritten, path_text
from kontend.kube.meta.names import Key

_OBSERVED: Final = b'"observedGeneration":'
_UUID: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Reader(Protocol):
    """The writer of an object, as far as it is known what it has read: a reconcile, or a whole process."""

    @property
    def versions(self) -> Collection[tuple[Any, ...]]:
        """The versions that it has read: resource, key and resourceVersion."""

    def before_work(self, key: Key) -> int | None:
        """The number of these that it had read when it last wrote another object than it writes now, None for all."""


class WritingCall(Protocol):
    """A call that writes."""

    @property
    def verb(self) -> str:
        """``create``, ``update``, ``patch``, ``delete`` or ``deletecollection``."""

    @property
    def name(self) -> str:
        """The name of the object, or nothing."""


#: A field of a status that says which generation was observed, and what it says.
_Claim = tuple[Path, int]


class Fault(NamedTuple):
    """A write that violates a property."""

    property: str
    sentence: str
    change: Change
    #: The newest version of the object that the writer had read; for a wrong object, of the one that it meant.
    base: Version | None = None
    #: The field.
    path: Path = ()


def faults_of_writes(
    before: State,
    writer: str,
    in_flight: Reader,
    call: WritingCall,
    resource: str,
    changes: Sequence[Change],
    *,
    own: str = "",
) -> Iterator[Fault]:
    """The properties that the writes of one call violate, each with a sentence.

    ``before`` is the cluster before the call, ``writer`` the instance that made it, ``in_flight`` its reconcile
    before the response. Objects that the server writes on its own account, such as the budget that an eviction uses
    up, are not the writer's: only those of the ``resource`` and the name that the call is about are judged.
    ``own`` is the field manager of a writer that no other process shares; empty where that is not known.
    """
    for change in changes if len(changes) == 1 else _net(changes):
        old, new = change.old, change.new
        if change.resource != resource or call.name not in ("", change.key.name):
            continue
        if old is None:
            continue  # no client can have read an object that did not exist
        if (change.resource, change.key, old.resource_version) not in in_flight.versions:
            read = _read(before, in_flight, change)
            same = [version for version in read if _uid(version) == _uid(old)]
            if read and not same:
                sentence = _wrong_object(before, writer, call, change, old)
                yield Fault(BuiltIn.WRONG_OBJECT, sentence, change, read[0])
                continue
            if same and not (new is None and _deletes(call)):
                yield from _overwrites(before, writer, same[0], change, old, own)
        if _deletes(call) and b'"ownerReferences"' in old.body:
            yield from _wrong_owner(before, writer, in_flight, change, old)
        if new is not None and _OBSERVED in new.body:
            yield from _observed(before, writer, in_flight, change, old, new)


def _net(changes: Sequence[Change]) -> list[Change]:
    """One change for each object: from what was there before the call to what is there after it."""
    net: dict[tuple[object, ...], Change] = {}
    for change in changes:
        first = net.get((change.resource, change.key), change)
        net[change.resource, change.key] = Change(
            change.resource, change.key, first.old, change.new, change.resource_version, None
        )
    return list(net.values())


def _read(before: State, in_flight: Reader, change: Change) -> list[Version]:
    """The versions of the object that the reconcile has read, newest first, as far as history knows them.

    Each is what is there now or what a later change replaced, also the one with which the exploration began.
    """
    wanted = {met[2] for met in in_flight.versions if met[0] == change.resource and met[1] == change.key}
    read: list[Version] = []
    later = (earlier.old for earlier in before.changes_of(change.resource, change.key))
    for version in chain([change.old], later) if wanted else ():
        if version is None:
            continue
        if version.resource_version in wanted:
            read.append(version)
        if version.resource_version <= min(wanted):
            break
    return read


def _deletes(call: WritingCall) -> bool:
    return call.verb in ("delete", "deletecollection")


def _wrong_object(before: State, writer: str, call: WritingCall, change: Change, old: Version) -> str:
    new = change.new
    if new is None or _deletes(call):
        did = "deleted"
    else:
        path = next(iter(changed_paths(old.body, new.body)), ())
        did = f"wrote {path_text(path)} of" if path else "wrote"
    births = (earlier.new for earlier in before.changes_of(change.resource, change.key) if earlier.old is None)
    born = next(births, None)
    creator = creator_of(born) if born is not None else ""
    return (
        f"{writer} {did} {named(change, old)}, but not the object that it had read: that one is gone, "
        f"and {creator or 'another client'} has created this one under the same name since"
    )


def _wrong_owner(before: State, writer: str, in_flight: Reader, change: Change, old: Version) -> Iterator[Fault]:
    """A delete of an object whose controller is alive, by a reconcile that has read only an earlier one of its name."""
    for reference in parsed(old.body)["metadata"]["ownerReferences"]:
        if not reference.get("controller"):
            continue
        owners = {
            (resource, key)
            for resource, key, *_ in in_flight.versions
            if key.name == reference["name"] and key.namespace in ("", change.key.namespace)
        }
        for resource, key in sorted(owners):
            alive = before.objects(resource).get(key)
            if alive is None or _uid(alive) != reference["uid"]:
                continue  # an orphan, which is there to be deleted
            read = _read(before, in_flight, Change(resource, key, alive, None, 0, None))
            if read and all(_uid(version) != reference["uid"] for version in read):
                owner, uid = f"{reference['kind']} {key}", str(reference["uid"])
                yield Fault(
                    BuiltIn.WRONG_OWNER,
                    f"{writer} deleted {named(change, old)}, which belongs to {owner} with uid {uid[:8]}; "
                    f"{writer} had read an earlier {owner} with uid {_uid(read[0])[:8]}, which is gone",
                    change,
                )
                return


# Lost updates and vanished elements


def _overwrites(before: State, writer: str, base: Version, change: Change, old: Version, own: str) -> Iterator[Fault]:
    """The first field that was changed again, and the first element that vanished."""
    new = change.new
    first: dict[bool, Overwrite] = {}
    for overwrite in _all_overwrites(base.body, old.body, new.body if new is not None else b""):
        if overwrite.vanished not in first and not (own and _is_own(own, base, old, overwrite)):
            first[overwrite.vanished] = overwrite
    for overwrite in first.values():
        author = "" if overwrite.removed else _author_since(before, base, change, overwrite.path)
        if overwrite.vanished:
            yield Fault(
                BuiltIn.VANISHED_ELEMENT,
                f"{writer} removed {overwrite.path[-1]} from {path_text(overwrite.path[:-1])} of {named(change, old)},"
                f" which {author or 'another client'} had added since {writer} read the object; the server accepted "
                "the write without a conflict",
                change,
                base,
                overwrite.path,
            )
        else:
            yield Fault(
                BuiltIn.LOST_UPDATE,
                f"{writer} overwrote {path_text(overwrite.path)} of {named(change, old)}, which "
                f"{author or 'another client'} had changed since {writer} read the object; the server accepted the "
                "write without a conflict",
                change,
                base,
                overwrite.path,
            )


def _author_since(before: State, base: Version, change: Change, path: Path) -> str:
    """The manager that last changed a field of the object since a version of it; empty when that is not known."""
    for earlier in before.changes_of(change.resource, change.key):
        if earlier.old is None or earlier.new is None or earlier.resource_version <= base.resource_version:
            break
        for other in changed_paths(earlier.old.body, earlier.new.body):
            if path[: len(other)] == other or other[: len(path)] == path:
                return author_of(earlier.new, path)
    return ""


def _is_own(own: str, base: Version, old: Version, overwrite: Overwrite) -> bool:
    """The field was the writer's alone, and what is lost is no identity."""
    if overwrite.removed:
        return author_of(base, overwrite.path) == own
    return author_of(old, overwrite.path) == own and not has_uuid(overwrite.lost)


def has_uuid(value: Any) -> bool:
    """Reports whether a value is, or contains, an identity by which others may know something.

    >>> has_uuid({"id": "6b7bc492-38cd-4a7c-8be6-54a7d4850850"}), has_uuid("2026-11-19T02:36:29Z")
    (True, False)
    """
    return _UUID.search(orjson.dumps(value)) is not None


@lru_cache(maxsize=10_000)
def _all_overwrites(read: bytes, old: bytes, new: bytes) -> tuple[Overwrite, ...]:
    there = parsed(old)
    if new:
        left = parsed(new)
    else:  # the write took the last finalizers, and the server removed the object for that
        metadata = {name: value for name, value in there["metadata"].items() if name != "finalizers"}
        left = {**there, "metadata": metadata}
    return tuple(overwritten(parsed(read), there, left))


# Observed generations


def _observed(
    before: State,
    writer: str,
    in_flight: Reader,
    change: Change,
    old: Version,
    new: Version,
) -> Iterator[Fault]:
    """A generation that the write claims as observed, and that was never read.

    What counts was read before the work that the stamp stands for, the last write to another object: a reconcile that
    only reads the object again before it writes the stamp has done nothing for the newer generation.
    A claim that was there before, or in a version that was read, is not this writer's. A reconcile that never read the
    object has observed no generation of it, so any claim is wrong: the number is a guess, or belongs to another
    object, or was remembered from an earlier run. Kinds that count no generations are left alone, and so are claims of
    0, which say that nothing was observed. Creates are not judged: the server drops the status of most kinds, and what
    is left is a copy of something that had it.
    """
    claims = _new_claims(old.body, new.body)
    current = _generation(old)
    if not claims or not current:
        return
    counted = list(in_flight.versions)[: in_flight.before_work(change.key)]
    early = [met[2] for met in counted if met[0] == change.resource and met[1] == change.key]
    if old.resource_version in early and all(claimed == current for _, claimed in claims):
        return
    known_versions = _read(before, in_flight, change)
    if early and not known_versions:
        return  # history does not reach back to what it has read
    whole = [version for version in known_versions if _uid(version) == _uid(old)]
    read = [version for version in whole if version.resource_version in early] or whole
    again = len(read) < len(whole)
    generations = sorted({_generation(version) for version in read})
    for path, claimed in claims:
        if claimed in generations or any((path, claimed) in _claims(version.body) for version in read):
            continue
        known = f"read only generation {' and '.join(map(str, generations))} of it" if read else "never read it"
        if again:
            known += " before it did the work that the stamp stands for"
        sentence = f"{writer} set {path_text(path)} of {named(change, old)} to {claimed}, but it had {known}"
        sentence += _made_by(before, change, claimed)
        yield Fault(BuiltIn.OBSERVED_GENERATION, sentence, change, read[0] if read else None, path)
        return


def _made_by(before: State, change: Change, generation: int) -> str:
    """Names the manager that made a generation of the object; empty when no change in history made it."""
    for earlier in before.changes_of(change.resource, change.key):
        if earlier.new is None or earlier.old is None or _generation(earlier.new) < generation:
            break
        if _generation(earlier.old) < generation:
            path = next(iter(changed_paths(earlier.old.body, earlier.new.body)), ())
            return f"; generation {generation} was made by {author_of(earlier.new, path) or 'another client'}"
    return ""


@lru_cache(maxsize=10_000)
def _new_claims(old: bytes, new: bytes) -> tuple[_Claim, ...]:
    known = _claims(old)
    return tuple(claim for claim in _claims(new) if claim not in known)


def _claims(body: bytes) -> tuple[_Claim, ...]:
    """The generations that the status of an object says were observed."""
    status = parsed(body).get("status")
    if not isinstance(status, Mapping):
        return ()
    places: list[tuple[Path, Mapping[str, Any]]] = [(("status",), status)]
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, Mapping):
            places.append((("status", "conditions", Element("type", str(condition.get("type", "")))), condition))
    claims = [((*path, "observedGeneration"), place.get("observedGeneration")) for path, place in places]
    return tuple((path, claimed) for path, claimed in claims if isinstance(claimed, int) and claimed)


# Parts of a version


@lru_cache(maxsize=2_000)
def parsed(body: bytes) -> dict[str, Any]:
    """A shared object that must not be changed."""
    obj: dict[str, Any] = orjson.loads(body)
    return obj


@lru_cache(maxsize=10_000)
def changed_paths(old: bytes, new: bytes) -> tuple[Path, ...]:
    """The fields that differ between two versions."""
    return tuple(changed(parsed(old), parsed(new)))


def _uid(version: Version) -> str:
    return str(parsed(version.body)["metadata"].get("uid", ""))


def _generation(version: Version) -> int:
    generation = parsed(version.body)["metadata"].get("generation")
    return generation if isinstance(generation, int) else 0


def named(change: Change, version: Version) -> str:
    """An object, as a sentence names it."""
    return f"{parsed(version.body).get('kind', change.resource)} {change.key}"
