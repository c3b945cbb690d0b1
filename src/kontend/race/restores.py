"""Updates that put back what another manager had changed: the content of an old version, sent whole.

`kubectl replace` reads the object and sends the newest resourceVersion with the content of its file, so the server
accepts a file that is older than the change. The resourceVersion says nothing here; the content does: a field that
another manager changed has again exactly the value that it had before. Managers are told apart by their clients, and
below those by the name of the field manager, because one person, or one service account, works under several.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kontend.explanation.fix import Fix, Language
from kontend.explanation.remedies import Remedy
from kontend.explore.explain.fields import value_at
from kontend.explore.properties.overwrites import Overwrite, Path, overwritten
from kontend.race.finding import STALE_WRITE, VANISHED_ELEMENT, RaceFinding
from kontend.race.history import Trail
from kontend.race.intent import Intent
from kontend.race.moment import UNKNOWN, Moment
from kontend.race.wording import did, had_changed, number_of

_LOCK: Final = Fix(Remedy.SEND_VERSION, spoken=Language.ANY)


def restored(trail: Trail, moment: Moment, intent: Intent) -> Iterator[RaceFinding]:
    """Yield the first field that an update sets back to the value before another manager's change.

    A client that computes what it sends may restore a value on purpose, so a locked update of a program is left alone.
    """
    if intent.how != "update" or moment.version is None or moment.before is None:
        return
    if intent.locked is not None and not moment.actor.is_user:
        return
    for other in trail.writes():
        if other.before is None or other.before.body is None or other.version is None:
            return
        if other.before.uid != moment.version.uid:
            return
        if _same_manager(other, moment) or other.actor is UNKNOWN:
            continue
        for overwrite in overwritten(other.before.content(), other.version.content(), moment.version.content()):
            if not moment.touches(overwrite.path) or not _as_before(other, moment, overwrite):
                continue
            if _has_changed(trail, moment, overwrite.path):
                continue
            yield _finding(trail, moment, other, overwrite)
            return


def _as_before(other: Moment, moment: Moment, overwrite: Overwrite) -> bool:
    if overwrite.vanished:
        return True
    assert other.before is not None
    assert moment.version is not None
    path = overwrite.path
    return bool(value_at(other.before.content(), path) == value_at(moment.version.content(), path))


def _same_manager(one: Moment, other: Moment) -> bool:
    return one.actor == other.actor and one.manager == other.manager


def _has_changed(trail: Trail, moment: Moment, path: Path) -> bool:
    """Report if the manager has changed a field before: it puts back what is its own."""
    return any(_same_manager(write, moment) and write.touches(path) for write in trail.writes())


def _finding(trail: Trail, moment: Moment, other: Moment, overwrite: Overwrite) -> RaceFinding:
    assert other.before is not None
    assert other.version is not None
    names = moment.actor == other.actor
    return RaceFinding(
        VANISHED_ELEMENT if overwrite.vanished else STALE_WRITE,
        (
            moment.actor,
            f" as {moment.manager}" if names and moment.manager else "",
            f" {did(moment, overwrite)} with an update that has the content of resourceVersion {other.before.number}; ",
            other.actor,
            f" as {other.manager}" if names and other.manager else "",
            f" had {had_changed(other.version, overwrite)} at resourceVersion {number_of(other)}, and the server "
            "accepted the write without a conflict",
        ),
        (moment.actor, other.actor),
        _LOCK,
        trail.span(moment, other.before.number),
        (other, moment),
        overwrite.path,
    )
