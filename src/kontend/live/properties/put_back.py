"""Overwritten fields that are as they should be in the end: drift that is corrected, and work that is done twice.

Most operators promise to keep what they make as it should be. A user who edits such an object loses the edit in every
run; that the controller writes before it has seen it makes no difference. What the user decides (a field of a spec that
nobody else writes) stays in unperturbed runs, so there the end of a run tells the two apart.

An instance that takes over does the work of the one before it again, and that one's last write may come late: the same
program has written both, the times in them differ, and nothing is lost if the end is the same. An identity is: others
may know the thing by it already. So is whatever a third program has written, which will not write it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.overwrites import Path
from kontend.explore.properties.writes import Fault, changed_paths, has_uuid
from kontend.live.gate.records import Happening, Request
from kontend.live.properties.final_state import Place, value_at
from kontend.live.properties.masking import Mask, title_of
from kontend.live.runs.outcome import Run
from kontend.live.runs.setting import PRIMARY, SECOND
from kontend.live.runs.workload import USER

#: The user, and the instances of the command.
_KNOWN: Final = (USER, PRIMARY, SECOND)
_OF_FIELDS: Final = (BuiltIn.LOST_UPDATE, BuiltIn.VANISHED_ELEMENT)


def is_put_back(run: Run, fault: Fault, mask: Mask, differing: Callable[[], Sequence[Place] | None]) -> bool:
    """Return whether a write has overwritten nothing that unperturbed runs keep.

    ``differing`` returns the places in which the end of the run differs from unperturbed ones, None if that is unknown.
    """
    if fault.property not in _OF_FIELDS or not _is_known_edit(run, fault):
        return False
    places, change = differing(), fault.change
    version = change.new or change.old
    if places is None or version is None:
        return False
    title = title_of(change.resource, change.key, version.content()["metadata"], mask)
    return not any(Place(title, fault.path).is_beside(place) for place in places)


def _is_known_edit(run: Run, fault: Fault) -> bool:
    """Return whether only the user and the controller have changed the field since the writer has read the object."""
    change = fault.change
    if change.old is not None and has_uuid(value_at(change.old.content(), fault.path)):
        return False
    since = fault.base.resource_version if fault.base is not None else 0
    known = {
        each.resource_version
        for record in run.log.records
        if isinstance(record, Request | Happening) and record.process in _KNOWN and record.before and record.after
        for each in record.after.changes_since(record.before.resource_version)
    }
    edits = [
        each.resource_version
        for each in run.final.changes_since(since, change.resource)
        if each.key == change.key and each.resource_version < change.resource_version
        if each.old is not None and each.new is not None
        if _touches(changed_paths(each.old.body, each.new.body), fault.path)
    ]
    return bool(edits) and known.issuperset(edits)


def _touches(paths: Sequence[Path], path: Path) -> bool:
    return any(each[: len(path)] == path[: len(each)] for each in paths)
