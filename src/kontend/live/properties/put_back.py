"""Edits of a user that a controller puts back: drift that it corrects, and no lost update.

Most operators promise to keep what they make as it should be. A user who edits such an object loses the edit in every
run; that the controller writes before it has seen it makes no difference. What the user decides (a field of a spec that
nobody else writes) stays in unperturbed runs, so there the end of a run tells the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.overwrites import Path
from kontend.explore.properties.writes import Fault, changed_paths
from kontend.live.gate.records import Happening
from kontend.live.properties.final_state import Place
from kontend.live.properties.masking import Mask, title_of
from kontend.live.runs.outcome import Run
from kontend.live.runs.workload import USER

_OF_FIELDS = (BuiltIn.LOST_UPDATE, BuiltIn.VANISHED_ELEMENT)


def is_put_back(run: Run, fault: Fault, mask: Mask, differing: Callable[[], Sequence[Place] | None]) -> bool:
    """Return whether a write has overwritten an edit of the user that no unperturbed run keeps either.

    ``differing`` returns the places in which the end of the run differs from unperturbed ones, None if that is unknown.
    """
    if fault.property not in _OF_FIELDS or not _is_edit_of_user(run, fault):
        return False
    places, change = differing(), fault.change
    version = change.new or change.old
    if places is None or version is None:
        return False
    title = title_of(change.resource, change.key, version.content()["metadata"], mask)
    return not any(Place(title, fault.path).is_beside(place) for place in places)


def _is_edit_of_user(run: Run, fault: Fault) -> bool:
    """Return whether the user alone has changed the field since the writer has read the object."""
    change = fault.change
    since = fault.base.resource_version if fault.base is not None else 0
    by_user = {
        each.resource_version
        for record in run.log.records
        if isinstance(record, Happening) and record.process == USER and record.before and record.after
        for each in record.after.changes_since(record.before.resource_version)
    }
    edits = [
        each.resource_version
        for each in run.final.changes_since(since, change.resource)
        if each.key == change.key and each.resource_version < change.resource_version
        if each.old is not None and each.new is not None
        if _touches(changed_paths(each.old.body, each.new.body), fault.path)
    ]
    return bool(edits) and by_user.issuperset(edits)


def _touches(paths: Sequence[Path], path: Path) -> bool:
    return any(each[: len(path)] == path[: len(each)] for each in paths)
