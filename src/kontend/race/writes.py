"""Judges single writes: does a write undo what its writer cannot have read?

A log shows what a client has been sent in response to its own requests. It does not show what a watch delivers, so of a
client that watches it is only known what it *can* have read at a time. From that follows the base of a write, the
newest version that its writer can have known:

- a client that has just read the object (``get``) writes from that version;
- a client that does not watch writes from the newest version that it has been sent;
- a client that watches, or of which no reads are logged, may know everything that was stored before its request
  arrived (``lag`` allows for delivery). Only a change that was stored while its request was on the way is certainly new
  to it.

Writes that carry the version that they replace are refused by the server where that is outdated. They are judged for
one mistake only: the same content sent again after a conflict. Applies name their fields and their manager, and the
server checks these. What people do with kubectl is deliberate, except for a file that is older than the object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import orjson

from kontend.explanation.fix import Fix, Language
from kontend.explanation.remedies import Remedy
from kontend.explore.explain.fields import value_at
from kontend.explore.properties.overwrites import Overwrite, Path, overwritten
from kontend.race.finding import (
    BLIND_OVERWRITE,
    LOST_UPDATE,
    STALE_WRITE,
    VANISHED_ELEMENT,
    WRONG_OBJECT,
    RaceFinding,
    Sentence,
    Watch,
)
from kontend.race.history import History, Trail
from kontend.race.intent import Intent
from kontend.race.log.actor import Actor
from kontend.race.log.event import ObjectKey
from kontend.race.moment import UNKNOWN, Moment, Version
from kontend.race.restores import restored
from kontend.race.wording import did, had_changed, number_of, object_name

#: The seconds for which a read says from which version a client writes, and if it also watches.
_FRESH: Final = 30.0
_FRESH_WATCHING: Final = 1.0
#: A client that does not watch, and writes so soon after another, is taken to write from what it has been sent before.
#: Later than that it rather states what it wants, whatever is there.
RECENT: Final = 60.0
#: A write whose content is that of an old version is taken for a mistake, not for a correction, within these seconds.
_SOON: Final = 5.0
#: A write that follows a conflict within these seconds is a retry.
_RETRY: Final = 30.0
_LOCK: Final = Fix(Remedy.SEND_VERSION, spoken=Language.ANY)
_LIST: Final = Fix(Remedy.LOCK_LIST, spoken=Language.ANY)
_UID: Final = Fix(Remedy.DELETE_WITH_UID, spoken=Language.ANY)
_RETRIED: Final = Fix(Remedy.RECOMPUTE_AFTER_CONFLICT, spoken=Language.ANY)


@dataclass(frozen=True, slots=True)
class _Base:
    """The newest version that a writer can have known."""

    number: int
    #: ``read``, ``known``, ``concurrent`` or ``lag``.
    how: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A write that the server refused with a conflict."""

    moment: Moment
    locked: int
    body: bytes


class WriteJudge:
    """Judges the writes of a log, one after the other."""

    def __init__(self, history: History, *, lag: float) -> None:
        self._history = history
        self._lag = lag
        self._refused: dict[tuple[Actor, ObjectKey], Refused] = {}
        #: Writes that replaced a value that their writers may or may not have seen.
        self.unjudged = 0

    def refuse(self, moment: Moment, intent: Intent) -> None:
        """Note a write that was refused with a conflict."""
        if intent.locked is None:
            return
        if len(self._refused) > 10_000:
            self._refused.clear()
        body = orjson.dumps(intent.body)
        self._refused[moment.actor, moment.key] = Refused(moment, intent.locked, body)

    def judge(self, trail: Trail, moment: Moment, intent: Intent) -> Iterator[RaceFinding]:
        """Yield the findings of a write; ``trail`` ends with the moment before it."""
        refused = self._refused.pop((moment.actor, moment.key), None)
        if moment.before is None or moment.before.body is None or intent.how in ("create", "apply"):
            return
        if moment.actor.is_user:
            yield from restored(trail, moment, intent)
            return
        if refused is not None and moment.received - refused.moment.completed <= _RETRY and intent.how != "delete":
            findings = list(self._retried(trail, moment, intent, refused))
            yield from findings
            if findings:
                return
        if intent.locked is not None:
            return
        base, unless = self._base(trail, moment)
        if base is not None and base.number < moment.before.number:
            findings = list(self._overwrites(trail, moment, intent, base, unless))
            if findings and unless is not None and intent.how != "delete":
                findings[0].otherwise = next(self._stale_content(trail, moment, intent, counts=False), None)
            yield from findings
            if findings:
                return
        if intent.how != "delete":
            findings = list(self._stale_content(trail, moment, intent))
            yield from findings or restored(trail, moment, intent)

    # The base of a write

    def _base(self, trail: Trail, moment: Moment) -> tuple[_Base | None, Watch | None]:
        """Return the version that a write was made from, and the watch that would make that doubtful."""
        known = self._history.known(moment.actor, moment.key, moment.received)
        newest = max((version.number for version in known), default=None)
        got = max((version.completed for version in known if version.how == "get"), default=0.0)
        place = (moment.actor, moment.key.resource, moment.key.namespace, moment.received)
        concurrent = self._concurrent(trail, moment, newest or 0)
        if newest is None or concurrent is not None:
            return concurrent, None
        if moment.received - got <= _FRESH:
            soon = moment.received - got <= _FRESH_WATCHING
            return _Base(newest, "read"), None if soon else Watch(*place, strict=False)
        latest = next(trail.writes(), None)
        if latest is not None and moment.received - latest.completed <= RECENT:
            return _Base(newest, "known"), Watch(*place)
        return None, None

    def _concurrent(self, trail: Trail, moment: Moment, known: int) -> _Base | None:
        """Return the newest version that was stored before a request arrived; None where that is the one it
        replaced."""
        base, how = None, ""
        for other in trail.writes():
            if other.version is None or other.version.number <= known or other.actor == moment.actor:
                break
            if other.completed <= moment.received - self._lag or other.before is None:
                break
            base = other.before.number
            if other.completed > moment.received:
                how = "concurrent"
        return _Base(base, how or "lag") if base is not None else None

    # Overwrites

    def _overwrites(
        self, trail: Trail, moment: Moment, intent: Intent, base: _Base, unless: Watch | None
    ) -> Iterator[RaceFinding]:
        """Fields that others changed since the base, and that the write changed again."""
        read, old = trail.version(base.number), moment.before
        assert old is not None
        if read is None:
            return
        if read.uid != old.uid:
            if not intent.uid:
                yield self._wrong_object(trail, moment, read, old, unless)
            return
        if intent.how == "delete" or moment.version is None:
            return
        for overwrite in _firsts(read, old, moment.version, intent):
            other = trail.author(moment, overwrite.path, base.number)
            if other is None:
                continue
            name = VANISHED_ELEMENT if overwrite.vanished else LOST_UPDATE if base.how != "lag" else BLIND_OVERWRITE
            yield RaceFinding(
                name,
                (
                    moment.actor,
                    " ",
                    did(moment, overwrite),
                    *self._origin(moment, base, other),
                    "; ",
                    other.actor,
                    " had ",
                    had_changed(old, overwrite),
                    f" at resourceVersion {number_of(other)}",
                    *_accepted(base),
                ),
                (moment.actor, other.actor),
                _LIST if overwrite.vanished and intent.how == "merge patch" else _LOCK,
                trail.span(moment, base.number),
                (other, moment),
                overwrite.path,
                unless=unless,
            )

    def _origin(self, moment: Moment, base: _Base, other: Moment) -> Sentence:
        if base.how in ("read", "known"):
            return (f" from resourceVersion {base.number}",)
        between = (moment.received - other.completed) * 1000
        when = "while that write was under way" if between < 0 else f"{between:.1f} ms after that write"
        return (f" without a resourceVersion, in a request that arrived {when}",)

    def _wrong_object(
        self, trail: Trail, moment: Moment, read: Version, old: Version, unless: Watch | None
    ) -> RaceFinding:
        did = "deleted" if moment.verb == "delete" else "wrote to"
        births = (write for write in trail.writes() if write.verb == "create" and write.version is not None)
        born = next(births, None)
        creator: Sentence = (born.actor, " had created") if born is not None else ("another client had created",)
        return RaceFinding(
            WRONG_OBJECT,
            (
                moment.actor,
                f" {did} {object_name(moment)} with uid {old.uid[:8]}, which ",
                *creator,
                " under the same name; ",
                moment.actor,
                f" had read the one with uid {read.uid[:8]} and resourceVersion {read.number}, which is gone",
            ),
            (moment.actor, born.actor if born is not None else UNKNOWN),
            _UID,
            trail.span(moment, read.number),
            (born, moment) if born is not None else (moment,),
            unless=unless,
        )

    # Content of old versions

    def _stale_content(
        self, trail: Trail, moment: Moment, intent: Intent, *, counts: bool = True
    ) -> Iterator[RaceFinding]:
        """Values of an old version, in a write that replaces everything or a whole list."""
        old, new = moment.before, moment.version
        assert old is not None
        if new is None:
            return
        known = max(
            (version.number for version in self._history.known(moment.actor, moment.key, moment.received)), default=0
        )
        for other in trail.writes():
            if other.version is None or other.version.number <= known or other.actor == moment.actor:
                return
            if other.before is None or other.before.body is None or moment.received - other.completed > _SOON:
                return
            for overwrite in _firsts(other.before, other.version, new, intent):
                before, after = (
                    value_at(other.before.content(), overwrite.path),
                    value_at(new.content(), overwrite.path),
                )
                if before != after or not (intent.how == "update" or overwrite.vanished):
                    continue
                if trail.has_changed(moment.actor, overwrite.path):
                    continue
                yield RaceFinding(
                    VANISHED_ELEMENT if overwrite.vanished else STALE_WRITE,
                    (
                        moment.actor,
                        " ",
                        did(moment, overwrite),
                        f" without a resourceVersion: that is the content of resourceVersion {other.before.number}; ",
                        other.actor,
                        " had ",
                        had_changed(other.version, overwrite),
                        f" at resourceVersion {number_of(other)}, and the server accepted the write without a conflict",
                    ),
                    (moment.actor, other.actor),
                    _LIST if overwrite.vanished and intent.how == "merge patch" else _LOCK,
                    trail.span(moment, other.before.number),
                    (other, moment),
                    overwrite.path,
                )
                return
            doubt = next((path for path in moment.paths if path in other.paths and intent.names(path)), None)
            if doubt is None:
                continue
            if known or other.verb == "create":
                self.unjudged += counts and other.verb != "create"
            else:
                yield self._unread(trail, moment, other, doubt)
            return

    def _unread(self, trail: Trail, moment: Moment, other: Moment, path: Path) -> RaceFinding:
        """Return a write over that of another, by a client that has never read the object."""
        assert moment.before is not None
        overwrite = Overwrite(path)
        return RaceFinding(
            BLIND_OVERWRITE,
            (moment.actor, " ", did(moment, overwrite), " without having read it; ", other.actor, " had ",
             had_changed(moment.before, overwrite), f" at resourceVersion {number_of(other)}, "
             f"{max(0.0, moment.received - other.completed):.3f} s before"),
            (moment.actor, other.actor),
            _LOCK,
            trail.span(moment, other.before.number if other.before is not None else 0),
            (other, moment),
            path,
            unless=Watch(moment.actor, moment.key.resource, moment.key.namespace, moment.received),
        )  # fmt: skip

    # Retries

    def _retried(self, trail: Trail, moment: Moment, intent: Intent, refused: Refused) -> Iterator[RaceFinding]:
        """Yield the content of a refused write, sent again over what had caused the conflict."""
        read, old, new = trail.version(refused.locked), moment.before, moment.version
        if read is None or new is None or old is None or read.uid != old.uid or read.number == old.number:
            return
        sent = orjson.loads(refused.body)
        if not isinstance(sent, dict):
            return
        for overwrite in _firsts(read, old, new, intent):
            other = trail.author(moment, overwrite.path, refused.locked)
            if other is None or value_at(sent, overwrite.path) != value_at(new.content(), overwrite.path):
                continue
            yield RaceFinding(
                BLIND_OVERWRITE,
                (
                    moment.actor,
                    " ",
                    did(moment, overwrite),
                    f" with the content that it had made from resourceVersion "
                    f"{refused.locked}: the server had refused it with 409 Conflict, because ",
                    other.actor,
                    " had ",
                    had_changed(old, overwrite),
                    f" at resourceVersion {number_of(other)}, and ",
                    moment.actor,
                    " sent it again without that change",
                ),
                (moment.actor, other.actor),
                _RETRIED,
                trail.span(moment, refused.locked),
                (other, moment),
                overwrite.path,
            )
            return


def _firsts(read: Version, old: Version, new: Version, intent: Intent) -> list[Overwrite]:
    """Return the first field that was changed again and the first element that vanished, of those that the request
    names."""
    if read.body is None or old.body is None or new.body is None:
        return []
    overwrites: dict[bool, Overwrite] = {}
    for overwrite in overwritten(read.content(), old.content(), new.content()):
        if intent.names(overwrite.path):
            overwrites.setdefault(overwrite.vanished, overwrite)
    return list(overwrites.values())


def _accepted(base: _Base) -> Sentence:
    if base.how == "lag":
        return (", and the log does not show that it had read that",)
    return (", and the server accepted the write without a conflict",)
