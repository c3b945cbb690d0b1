"""Fights: a controller takes back what another program or a person has written, knowingly.

A lost update overwrites what the writer has not seen. Here the writer has read the other's value, and puts back the one
that was there before it, or forces it by an apply: an operator that sets ``replicas`` on every reconcile works against
an autoscaler. In a search each user acts once, so everything settles; in a cluster the autoscaler writes again, and
neither ever wins.

Only a value that comes back counts. A controller that draws a conclusion from what a user wrote (a phase that moves on,
a request that is clamped) answers it. Nor does it count that a controller puts back what a person changed in an object
that it controls, or in a status, which is for controllers to write: that is the correction of drift, which most
operators promise, and a person gives way. Metadata do not count either: annotations ask for something once, and whoever
did it takes them away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from kontend.cluster.state import Change, State, Version
from kontend.explore.actions import USER
from kontend.explore.properties.authors import author_of
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.overwrites import Element, Path, path_text
from kontend.explore.properties.writes import Fault, changed_paths, named, parsed

_ABSENT: Final = object()
_METADATA: Final = "metadata"
_STATUS: Final = "status"


def fights(
    before: State,
    writer: str,
    change: Change,
    users: Collection[str],
    enforced: Collection[str],
    *,
    person: str = USER,
    is_forced: bool = False,
) -> Iterator[Fault]:
    """The first field in which a write takes back what one of the users has written.

    ``enforced`` names fields that a controller is meant to hold, as ``Kind.path``. ``person`` is the user who is no
    program. A forced apply takes back what it has not read.
    """
    old, new = change.old, change.new
    if old is None or new is None or not users:
        return
    kind = str(parsed(old.body).get("kind", ""))
    for path in changed_paths(old.body, new.body):
        if path[0] == _METADATA or _is_enforced(f"{kind}{path_text(path)}", enforced):
            continue
        author = author_of(old, path)
        if author not in users or (author == person and (path[0] == _STATUS or _is_controlled(old))):
            continue
        taken_back = _value(parsed(new.body), path)
        if taken_back is not _ABSENT and _before(before, change, path) == taken_back:
            what = f"{path_text(path)} of {named(change, old)}"
            seen = ", by force" if is_forced else f" and {writer} had read"
            yield Fault(
                BuiltIn.FIGHT,
                f"{writer} took back {what}, which {author} had set{seen}: a writer that does not give way sets "
                "it again. Leave the field alone once another owns it; or, "
                f'if this is meant, say so: Scenario(enforced=["{kind}{path_text(path)}"])',
                change,
                old,
                path,
            )
            return


def _is_controlled(version: Version) -> bool:
    """A controller owns the object."""
    owners = parsed(version.body)[_METADATA].get("ownerReferences") or ()
    return any(owner.get("controller") for owner in owners)


def _is_enforced(field: str, enforced: Collection[str]) -> bool:
    return any(field == name or field.startswith((f"{name}.", f"{name}[")) for name in enforced)


def _before(state: State, change: Change, path: Path) -> Any:
    """The value that a field had before its last change; absent where history does not say."""
    assert change.old is not None
    current = _value(parsed(change.old.body), path)
    for earlier in state.changes_of(change.resource, change.key):
        if earlier.old is None:
            return _ABSENT
        value = _value(parsed(earlier.old.body), path)
        if value != current:
            return value
    return _ABSENT


def _value(obj: Any, path: Path) -> Any:
    for step in path:
        if isinstance(step, Element):
            items = obj if isinstance(obj, list) else []
            same = (item for item in items if (item.get(step.key) if step.key else item) == step.value)
            obj = next(same, _ABSENT)
        else:
            obj = obj.get(step, _ABSENT) if isinstance(obj, dict) else _ABSENT
    return obj
