"""Goes through a log once and collects findings.

Reads and writes bring the trail of their object up to date; each write is judged against the trail as it was before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kontend.race.fights import fights_of
from kontend.race.finding import RaceFinding, Watch
from kontend.race.history import History, Known, Trail
from kontend.race.intent import Intent, intent_of
from kontend.race.log.actor import Actor
from kontend.race.log.content import Contents, is_gone, is_object, kind_of, uid_of, version_of
from kontend.race.log.event import AuditEvent, ObjectKey, Resource
from kontend.race.log.ordering import in_order, once
from kontend.race.log.selection import Selection
from kontend.race.loops import LoopJudge
from kontend.race.moment import UNKNOWN, Moment, Version, changed_paths, moment_of
from kontend.race.writes import RECENT, WriteJudge

#: Resources whose writes are heartbeats or leave no object.
_UNJUDGED: Final = frozenset(
    {
        Resource("coordination.k8s.io", "leases"),
        Resource("", "events"),
        Resource("events.k8s.io", "events"),
        Resource("authentication.k8s.io", "tokenreviews"),
        Resource("authorization.k8s.io", "subjectaccessreviews"),
        Resource("authorization.k8s.io", "selfsubjectaccessreviews"),
        Resource("authorization.k8s.io", "selfsubjectrulesreviews"),
        Resource("authorization.k8s.io", "localsubjectaccessreviews"),
        Resource("authentication.k8s.io", "selfsubjectreviews"),
    }
)
#: Subresources whose responses are something else than the object, and that do not change it.
_OTHER: Final = frozenset({"token", "exec", "attach", "portforward", "proxy", "log"})
_SECRETS: Final = Resource("", "secrets")
#: Causes that are kept with their traces; further ones are counted.
_CAUSES: Final = 200


@dataclass(frozen=True, slots=True)
class Options:
    """Options of an analysis."""

    #: Seconds by which the caches of clients may be late.
    lag: float = 0.0
    #: Writes in a row that make a hot loop.
    loop: int = 20
    #: Bytes of objects that are kept.
    memory: int = 64 << 20
    selection: Selection = field(default_factory=Selection)


@dataclass(slots=True)
class Result:
    """The findings of a log, and what of it could be judged."""

    findings: list[RaceFinding] = field(default_factory=list)
    #: Successful writes of objects by the level at which they were logged.
    levels: Counter[str] = field(default_factory=Counter)
    #: Writes that could be compared with the version that they replaced.
    judged: int = 0
    #: Writes that replaced a value of another client which a watch may have shown to the writer.
    doubtful: int = 0
    #: Writes without their objects, over a recent write of another client.
    unseen: int = 0
    #: Findings of further causes, which are not kept.
    omitted: int = 0
    forgotten: int = 0
    first: float | None = None
    last: float | None = None


def analyse(events: Iterable[AuditEvent], options: Options) -> Result:
    """Return the findings of a log."""
    analysis = _Analysis(options)
    for event in in_order(once(events)):
        analysis.take(event)
    return analysis.finish()


class _Analysis:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._selection = options.selection
        self._contents = Contents()
        self._history = History(limit=options.memory)
        self._writes = WriteJudge(self._history, lag=options.lag)
        self._loops = LoopJudge(writes=options.loop)
        self._watches: dict[tuple[Actor, Resource], list[tuple[float, float, str]]] = defaultdict(list)
        self._has_watches = False
        self._causes: dict[tuple[object, ...], list[RaceFinding]] = {}
        self.result = Result()

    def take(self, event: AuditEvent) -> None:
        """Take the next event."""
        result = self.result
        result.first = event.received if result.first is None else min(result.first, event.received)
        result.last = event.completed if result.last is None else max(result.last, event.completed)
        if event.verb == "watch":
            self._watch(event)
            return
        resource = event.key.resource
        if resource in _UNJUDGED or event.subresource in _OTHER or event.dry_run:
            return
        if event.writes:
            self._write(event)
        elif event.succeeded and not event.subresource and self._selection.has_namespace(event.key.namespace):
            self._read(event)

    # Reads

    def _watch(self, event: AuditEvent) -> None:
        if not event.succeeded:
            return
        self._has_watches = True
        spans = self._watches[event.actor, event.key.resource]
        end = float("inf") if event.started else event.completed
        spans.append((event.received, end, event.key.namespace))
        if len(spans) > 1_000:  # a client that watches so often watches all the time
            spans[:] = [(min(span[0] for span in spans), float("inf"), "")]

    def _read(self, event: AuditEvent) -> None:
        response = event.response
        if not isinstance(response, Mapping):
            return
        if event.verb == "get":
            self._met(event, event.key, response, "get")
            return
        items, kind = response.get("items"), response.get("kind")
        if not isinstance(items, list) or not isinstance(kind, str):
            return
        for item in items:
            metadata = item.get("metadata") if isinstance(item, Mapping) else None
            if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
                continue
            key = ObjectKey(event.key.resource, str(metadata.get("namespace") or ""), metadata["name"])
            named = {"apiVersion": response.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
            self._met(event, key, named, "list")

    def _met(self, event: AuditEvent, key: ObjectKey, obj: Mapping[str, Any], how: str) -> None:
        """A client was sent an object."""
        number = version_of(obj)
        if number is None or not self._selection.has_kind(key.resource, obj.get("kind")):
            return
        trail = self._history.trail(key)
        current = trail.current
        kind = kind_of(obj) or trail.kind
        version = None
        if current is not None and current.number == number and current.body is not None:
            version = current
        elif obj.get("kind") not in ("PartialObjectMetadata", "Table"):
            version = Version(number, self._body(key, obj), uid_of(obj), event.completed)
            if current is None or current.number < number:
                # A version that no write has shown: written before the log begins, or not logged.
                if current is not None:
                    self._unseen(event, key, trail, version, kind)
                trail.current, trail.gap, trail.absent = version, False, False
                trail.kind = kind
        self._history.learn(event.actor, key, Known(number, event.completed, how, uid_of(obj)))
        if how == "get" and version is not None:
            latest = trail.current.number if trail.current is not None else None
            read = moment_of(event, trail.kind or kind, version=version, latest=latest)
            self._history.add(key, read)
        elif how == "list" and version is not None and not trail.moments:
            self._history.add(key, _listed(event, key, kind, version))

    def _unseen(self, event: AuditEvent, key: ObjectKey, trail: Trail, version: Version, kind: str) -> None:
        """A change that only shows in what was read later."""
        before = trail.current
        assert before is not None
        if before.uid != version.uid or trail.gap or before.body is None:
            return
        paths = changed_paths(before.content(), version.content())
        change = Moment(
            event.file, event.line, UNKNOWN, "update", key, kind, "", before.completed, event.completed, 0, "",
            version=version, before=before, paths=paths,
        )  # fmt: skip
        self._history.add(key, change)

    # Writes

    def _write(self, event: AuditEvent) -> None:
        key = event.key
        selected = self._selection.has_namespace(key.namespace)
        if event.verb == "deletecollection" or not key.name:
            if event.succeeded:
                self._loops.note_change(event)
                self._forget_collection(event)
            return
        trail = self._history.trail(key)
        kind = self._kind(event, trail)
        moment = self._moment(event, trail, kind)
        if moment is None:
            return
        if event.succeeded and (moment.changes or moment.version is None):
            self._loops.note_change(event)
        if not selected or not self._selection.has_kind(key.resource, kind.partition("/")[0].partition(".")[0]):
            return
        if event.succeeded and self._selection.has_time(event.received):
            self.result.levels[event.level] += 1
        self._judge(event, trail, moment)
        if event.succeeded:
            self._after(event, trail, moment)
        self._history.add(key, moment)

    def _judge(self, event: AuditEvent, trail: Trail, moment: Moment) -> None:
        intent = intent_of(event)
        compared = moment.before is not None and moment.changes
        if event.level != "RequestResponse" and event.succeeded and self._selection.has_time(event.received):
            self.result.unseen += _over_another(trail, moment, intent)
        if not event.succeeded:
            if event.code == 409:
                self._writes.refuse(moment, intent)
        elif compared or (moment.verb == "create" and moment.version is not None):
            self.result.judged += self._selection.has_time(event.received)
        if event.succeeded and compared:
            for finding in (*self._writes.judge(trail, moment, intent), *fights_of(trail, moment)):
                self._found(finding)
        loop = self._loops.judge(moment)
        if loop is not None:
            self._found(loop)

    def _moment(self, event: AuditEvent, trail: Trail, kind: str) -> Moment | None:
        """Return the moment of a write, with the versions before and after it."""
        known = self._history.known(event.actor, event.key, event.received)
        base = max((version.number for version in known), default=None)
        if not event.succeeded:
            return moment_of(event, kind, base=base)
        current, response = trail.current, event.response
        intent = intent_of(event)
        base = intent.locked if intent.locked is not None else base
        comparable = current is not None and not trail.gap and current.body is not None
        if event.verb == "delete" and not is_object(response, event.key.name, kind):
            before = current if comparable else None
            return moment_of(event, kind, before=before, deleted=True, base=base)
        if not is_object(response, event.key.name, kind):
            return moment_of(event, kind, base=base)
        number = version_of(response)
        if number is None:
            return None
        body = self._body(event.key, response)
        version = Version(number, body, uid_of(response), event.completed)
        if event.verb == "create":
            return moment_of(event, kind, version=version, base=base)
        gone = is_gone(response, deletes=event.verb == "delete")
        if not comparable or current is None:
            return moment_of(event, kind, version=version, deleted=gone, base=base)
        if number == current.number and not gone:
            return self._again(event, trail, kind, version, base)
        same = (
            current.uid == version.uid
            and (number > current.number or gone)
            and current.content().get("apiVersion") == version.content().get("apiVersion")
            and intent.locked in (None, current.number)
        )
        if not same:
            return moment_of(event, kind, version=version, deleted=gone, base=base)
        paths = changed_paths(current.content(), version.content())
        return moment_of(event, kind, version=version, before=current, deleted=gone, base=base, paths=paths)

    def _again(self, event: AuditEvent, trail: Trail, kind: str, version: Version, base: int | None) -> Moment:
        """Return a write that left a version that is known: it changed nothing, or somebody read it before it was
        logged."""
        change = next((moment for moment in trail.moments if moment.actor is UNKNOWN and moment.version), None)
        current = trail.current
        assert current is not None
        if change is None or change.version != current or current.completed <= event.received:
            return moment_of(event, kind, version=version, before=current, base=base)
        trail.moments.remove(change)
        return moment_of(event, kind, version=version, before=change.before, base=base, paths=change.paths)

    def _after(self, event: AuditEvent, trail: Trail, moment: Moment) -> None:
        """Bring the trail of an object up to date after a write."""
        trail.kind = moment.kind
        if moment.deleted:
            trail.current, trail.gap, trail.absent = None, False, True
        elif moment.version is None:
            trail.gap = True
        elif trail.current is None or moment.version.number >= trail.current.number:
            trail.current, trail.gap, trail.absent = moment.version, False, False
        number = version_of(event.response)
        if number is not None:
            known = Known(number, event.completed, "write", uid_of(event.response))
            self._history.learn(event.actor, event.key, known)

    def _forget_collection(self, event: AuditEvent) -> None:
        response = event.response
        items = response.get("items") if isinstance(response, Mapping) else None
        for item in items if isinstance(items, list) else ():
            metadata = item.get("metadata") if isinstance(item, Mapping) else None
            if isinstance(metadata, Mapping):
                namespace = str(metadata.get("namespace") or "")
                key = ObjectKey(event.key.resource, namespace, str(metadata.get("name") or ""))
                trail = self._history.trail(key)
                trail.current, trail.gap = None, False

    def _body(self, key: ObjectKey, obj: Mapping[str, Any]) -> bytes:
        return self._contents.of(obj, secret=key.resource == _SECRETS)

    def _kind(self, event: AuditEvent, trail: Trail) -> str:
        for obj in (event.response, event.request):
            kind = kind_of(obj)
            if kind and not kind.startswith(("Status/", "Scale.", "DeleteOptions", "Eviction", "Binding")):
                return kind
        return trail.kind or str(event.key.resource)

    # Findings

    def _found(self, finding: RaceFinding) -> None:
        if not self._selection.has_time(finding.last.received):
            return
        same = self._causes.get(finding.cause)
        if same is not None:
            if len(same) < 20 and finding.unless is not None:
                same.append(finding)  # the first ones may turn out to be doubtful
            else:
                same[0].count += 1
        elif len(self._causes) < _CAUSES:
            self._causes[finding.cause] = [finding]
        else:
            self.result.omitted += 1

    def finish(self) -> Result:
        """Return the result, when all events were taken."""
        result = self.result
        decided: dict[tuple[object, ...], RaceFinding] = {}
        for finding in (finding for same in self._causes.values() for finding in same):
            certain: RaceFinding | None = finding
            if finding.unless is not None and self._may_watch(finding.unless):
                certain = finding.otherwise
                result.doubtful += certain is None
            if certain is None:
                continue
            known = decided.setdefault(certain.cause, certain)
            if known is not certain:
                known.count += certain.count
        result.findings = list(decided.values())
        result.doubtful += self._writes.unjudged
        result.forgotten = self._history.forgotten
        return result

    def _may_watch(self, watch: Watch) -> bool:
        """Return whether a client watches a resource at a time, as far as the log shows; where it shows no watches, any
        may."""
        if not self._has_watches:
            return watch.strict
        spans: Sequence[tuple[float, float, str]] = self._watches.get((watch.actor, watch.resource), ())
        return any(begin <= watch.at <= end and namespace in ("", watch.namespace) for begin, end, namespace in spans)


def _over_another(trail: Trail, moment: Moment, intent: Intent) -> bool:
    """Report if a write that cannot be judged followed another client's, and may have undone it."""
    if moment.actor.is_user or intent.locked is not None or intent.how in ("create", "apply", "delete"):
        return False
    return any(
        other.actor != moment.actor
        and other.verb in ("create", "update", "patch")
        and other.subresource == moment.subresource
        and 200 <= other.code < 300
        and moment.received - other.completed <= RECENT
        for other in trail.moments
    )


def _listed(event: AuditEvent, key: ObjectKey, kind: str, version: Version) -> Moment:
    return Moment(
        event.file, event.line, event.actor, "list", key, kind, "", event.received, event.completed, event.code, "",
        version=version, latest=version.number,
    )  # fmt: skip
