"""What can be wrong with one write, with no words from the user.

A reconcile reads, time passes, it writes. What others did in between it does not know, and there are ways in which that
shows in the write itself:

- *another object*: the write hit an object of the same name, but with another uid than any that was read. Nothing else
  is told of such a write: what the object had was not lost, it never was what the writer meant.
- *vanished element*: the write removed an element of a list that somebody had added since the read.
- *lost update*: the write changed any other field again that somebody had changed since the read. So a vanished element
  is the lost update of an element, told under its own name only; one write can do both, to different fields.
- *observed generation*: the write says of the object that a generation was observed which the reconcile never read.

What a reconcile has read is what its flight has met, answers to its own writes included. The newest of that is what it
is measured by: whoever has read a change and takes it back meant to.

This runs for every write of a search. Most writers have read the version that they replace, which one comparison shows;
what has to be parsed is parsed once for the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import orjson

from kontend.cluster.state import Change, State, Version
from kontend.explore.authors import author_of, creator_of
from kontend.explore.overwrites import Element, Overwrite, Path, changed, overwritten, path_text
from kontend.explore.world import Flight

_OBSERVED: Final = b'"observedGeneration":'
#: A field of a status that says which generation was observed, and what it says.
_Claim = tuple[Path, int]


def wrong_writes(before: State, who: str, flight: Flight, changes: Sequence[Change]) -> Iterator[tuple[str, str]]:
    """What is wrong with the writes of one call of a reconcile: names of properties, each with a sentence.

    ``before`` is the state in which the call was made, ``who`` made it, ``flight`` is what it was before the answer.
    """
    for change in changes if len(changes) == 1 else _net(changes):
        old, new = change.old, change.new
        if old is None:
            continue  # nobody can have read what was not there
        if (change.resource, change.key, old.resource_version) not in flight.met:
            read = _read(before, flight, change)
            same = [each for each in read if _uid(each) == _uid(old)]
            if read and not same:
                yield "another object", _another_object(before, who, flight, change, old)
                continue
            if same and not (new is None and _deletes(flight)):
                yield from _overwrites(before, who, same[0], change, old)
        if new is not None and _OBSERVED in new.body:
            yield from _observed(before, who, flight, change, old, new)


def _net(changes: Sequence[Change]) -> list[Change]:
    """One change for each object: from what was there before the call to what is there after it."""
    net: dict[tuple[object, ...], Change] = {}
    for each in changes:
        first = net.get((each.resource, each.key), each)
        net[each.resource, each.key] = Change(each.resource, each.key, first.old, each.new, each.resource_version, None)
    return list(net.values())


def _read(before: State, flight: Flight, change: Change) -> list[Version]:
    """The versions of the object that the reconcile has read, newest first, as far as history knows them.

    Each is what is there now or what a later change replaced, also the one with which the exploration began.
    """
    wanted = {met[2] for met in flight.met if met[0] == change.resource and met[1] == change.key}
    read: list[Version] = []
    later = (each.old for each in before.changes_of(change.resource, change.key))
    for version in chain([change.old], later) if wanted else ():
        if version is None:
            continue
        if version.resource_version in wanted:
            read.append(version)
        if version.resource_version <= min(wanted):
            break
    return read


def _deletes(flight: Flight) -> bool:
    call = flight.node.call
    return call is not None and call.verb in ("delete", "deletecollection")


def _another_object(before: State, who: str, flight: Flight, change: Change, old: Version) -> str:
    new = change.new
    if new is None or _deletes(flight):
        did = "deleted"
    else:
        path = next(iter(_changed(old.body, new.body)), ())
        did = f"wrote {path_text(path)} of" if path else "wrote"
    births = (each.new for each in before.changes_of(change.resource, change.key) if each.old is None)
    born = next(births, None)
    creator = creator_of(born) if born is not None else ""
    return (
        f"{who} {did} {_named(change, old)}, but another one than it had read: that one is gone, "
        f"and {creator or 'somebody'} has created this one under the same name since"
    )


# Lost updates and vanished elements


def _overwrites(before: State, who: str, base: Version, change: Change, old: Version) -> Iterator[tuple[str, str]]:
    new = change.new
    for each in _first_overwrites(base.body, old.body, new.body if new is not None else b""):
        author = "" if each.removed else _author_since(before, base, change, each.path)
        if each.vanished:
            yield (
                "vanished element",
                f"{who} removed {each.path[-1]} from {path_text(each.path[:-1])} of {_named(change, old)}, "
                f"but {author or 'somebody'} had added it since {who} had read the object, and nobody was told",
            )
        else:
            yield (
                "lost update",
                f"{who} wrote {path_text(each.path)} of {_named(change, old)} over a change made since it had read "
                f"the object{author and f' (by {author})'}, and nobody was told",
            )


def _author_since(before: State, base: Version, change: Change, path: Path) -> str:
    """Who last changed a field of the object since a version of it; empty when that is not known."""
    for each in before.changes_of(change.resource, change.key):
        if each.old is None or each.new is None or each.resource_version <= base.resource_version:
            break
        for other in _changed(each.old.body, each.new.body):
            if path[: len(other)] == other or other[: len(path)] == path:
                return author_of(each.new, path)
    return ""


@lru_cache(maxsize=10_000)
def _first_overwrites(read: bytes, old: bytes, new: bytes) -> tuple[Overwrite, ...]:
    """The first field that was changed again, and the first element that vanished."""
    there = _parsed(old)
    if new:
        left = _parsed(new)
    else:  # the write took the last finalizers, and the server removed the object for that
        metadata = {name: value for name, value in there["metadata"].items() if name != "finalizers"}
        left = {**there, "metadata": metadata}
    found: dict[bool, Overwrite] = {}
    for each in overwritten(_parsed(read), there, left):
        found.setdefault(each.vanished, each)
    return tuple(found.values())


# Observed generations


def _observed(
    before: State, who: str, flight: Flight, change: Change, old: Version, new: Version
) -> Iterator[tuple[str, str]]:
    """A generation that the write says was observed, and that was never read.

    A claim that was there, or that was there in a version that was read, is not this writer's. A reconcile that never
    read the object has observed no generation of it, so any claim is wrong: the number is a guess, or that of another
    object, or was remembered from an earlier run, while what this run did was not done for it. Kinds that count no
    generations are left alone, and so are claims of 0, which say that nothing was observed. Creates are not looked at:
    of most kinds the server drops the status, and what is left is a copy of something that had it.
    """
    claims = _new_claims(old.body, new.body)
    current = _generation(old)
    if not claims or not current:
        return
    met = [met[2] for met in flight.met if met[0] == change.resource and met[1] == change.key]
    if old.resource_version in met and all(claimed == current for _, claimed in claims):
        return
    read = [each for each in _read(before, flight, change) if _uid(each) == _uid(old)]
    if met and not read:
        return  # what it has read is forgotten
    generations = sorted({_generation(each) for each in read})
    for path, claimed in claims:
        if claimed in generations or any((path, claimed) in _claims(each.body) for each in read):
            continue
        known = f"read only generation {' and '.join(map(str, generations))} of it" if read else "never read it"
        sentence = f"{who} set {path_text(path)} of {_named(change, old)} to {claimed}, but it had {known}"
        yield "observed generation", sentence + _made_by(before, change, claimed)
        return


def _made_by(before: State, change: Change, generation: int) -> str:
    """Who made a generation of the object, in words; empty when no change in history made it."""
    for each in before.changes_of(change.resource, change.key):
        if each.new is None or each.old is None or _generation(each.new) < generation:
            break
        if _generation(each.old) < generation:
            path = next(iter(_changed(each.old.body, each.new.body)), ())
            return f"; generation {generation} was made by {author_of(each.new, path) or 'somebody'}"
    return ""


@lru_cache(maxsize=10_000)
def _new_claims(old: bytes, new: bytes) -> tuple[_Claim, ...]:
    known = _claims(old)
    return tuple(claim for claim in _claims(new) if claim not in known)


def _claims(body: bytes) -> tuple[_Claim, ...]:
    """The generations that the status of an object says were observed."""
    status = _parsed(body).get("status")
    if not isinstance(status, Mapping):
        return ()
    places: list[tuple[Path, Mapping[str, Any]]] = [(("status",), status)]
    conditions = status.get("conditions")
    for each in conditions if isinstance(conditions, list) else ():
        if isinstance(each, Mapping):
            places.append((("status", "conditions", Element("type", str(each.get("type", "")))), each))
    claims = [((*path, "observedGeneration"), place.get("observedGeneration")) for path, place in places]
    return tuple((path, claimed) for path, claimed in claims if isinstance(claimed, int) and claimed)


# What is in a version


@lru_cache(maxsize=2_000)
def _parsed(body: bytes) -> dict[str, Any]:
    """An object that all share: not to be changed."""
    obj: dict[str, Any] = orjson.loads(body)
    return obj


@lru_cache(maxsize=10_000)
def _changed(old: bytes, new: bytes) -> tuple[Path, ...]:
    return tuple(changed(_parsed(old), _parsed(new)))


def _uid(version: Version) -> str:
    return str(_parsed(version.body)["metadata"].get("uid", ""))


def _generation(version: Version) -> int:
    generation = _parsed(version.body)["metadata"].get("generation")
    return generation if isinstance(generation, int) else 0


def _named(change: Change, version: Version) -> str:
    return f"{_parsed(version.body).get('kind', change.resource)} {change.key}"
