"""The API server as the model uses it: called once for each request on each set of objects.

The outcome of a call depends on the objects, on which of the versions that the run has met are still current, and on
the identities that are handed out; not on the numbers of the versions. So outcomes are kept and applied again in every
other state in which these agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import orjson

from kontend.cluster.cluster import Cluster
from kontend.cluster.handle import handle
from kontend.cluster.reads import Reads, WatchedState
from kontend.cluster.registration.api_services import API_SERVICES
from kontend.cluster.request import ApiRequest
from kontend.cluster.resources import Registry, Resource
from kontend.cluster.startup.seed import UnknownKind, resource_of
from kontend.cluster.state import State
from kontend.cluster.verbs.delete import DEFINITIONS
from kontend.cluster.wire.response import ApiResponse
from kontend.explore.actions import Action, Writer
from kontend.explore.model.answer import OK, Answer, Refusal
from kontend.explore.model.outcome import Outcome, outcome_of
from kontend.explore.model.state.key import is_current
from kontend.explore.model.state.process import InFlight
from kontend.explore.model.state.world import World
from kontend.explore.program.external import CALL, EXTERNAL
from kontend.explore.program.foreign import ForeignController
from kontend.explore.program.identities import chosen, first_serial
from kontend.explore.program.symbols import bind
from kontend.explore.program.tree import Program
from kontend.kube.errors import ApiError
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import METHODS, Call, kind_of_view, path_of

#: More requests than these are not recorded: the clusters in which they were carried out are kept with them.
_MOST_RECORDED: Final = 5_000
#: What the server serves comes from these, so every request depends on them.
_ROUTING: Final = frozenset({DEFINITIONS, API_SERVICES})
#: Verbs whose reads of their own resource are narrower than all of it: the labels and the namespace of the call tell.
_SELECTING: Final = ("list", "deletecollection")
_JSON_PATCH: Final = "application/json-patch+json"


class Computed(NamedTuple):
    """A request that the server has carried out: in which cluster, what it was, and its outcome."""

    state: State
    #: The label of the identities that it could hand out, and how many were handed out for it before.
    label: str
    issued: int
    outcome: Outcome
    #: For the call of a reconcile: the program, the run, and the call.
    program: Program | None = None
    in_flight: InFlight | None = None
    call: Call | None = None
    #: For the action of a user: the user, and the action.
    user: Writer | None = None
    action: Action | None = None


class Server:
    """Responds to the calls of reconciles and users."""

    def __init__(self, *, remember: bool, exact: bool, identities: int = 0) -> None:
        """``remember`` keeps outcomes; ``exact`` shows user code the real resourceVersions.

        ``identities`` is the number of the choice of uids and generated names.
        """
        self._choice = identities
        self._remember = remember
        self._exact = exact
        self._is_shared = False
        self._resources: dict[tuple[int, str], Resource] = {}
        #: The registries whose resources are cached, so that none of them is freed and its id reused.
        self._registries: dict[int, Registry] = {}
        self._outcomes: dict[tuple[object, ...], Outcome] = {}
        #: The outcomes of calls that were computed and not yet exchanged with other processes.
        self.fresh: list[tuple[tuple[object, ...], Outcome]] = []
        self._labels: dict[tuple[object, ...], str] = {}
        #: The requests that were carried out; None where nobody asks for them.
        self.record: list[Computed] | None = None
        self._reads: dict[object, Reads] = {}

    def reads_of(self, program: Program, request: Key) -> Reads:
        """All that the server has read for the calls of the reconciles of a request so far, but for what they list."""
        return self._reads.get((program.number, request)) or Reads()

    def reads_for(self, action: Action) -> Reads:
        """All that the server has read for an action so far."""
        return self._reads.get(id(action)) or Reads()

    def resource(self, state: State, kind: str) -> Resource:
        """The resource that serves a kind, or a view of one. Raises ``UnknownKind``."""
        registry = state.registry
        question = (id(registry), kind)
        resource = self._resources.get(question)
        if resource is None:
            self._registries[id(registry)] = registry
            resource = self._resources[question] = resource_of(registry, kind_of_view(kind))
        return resource

    def call(self, world: World, program: Program, in_flight: InFlight, at: int, call: Call) -> tuple[Outcome, str]:
        """The outcome of a call of an in-flight reconcile, and the label of the identities it hands out."""
        state = world.state
        label, serial = "", 0
        if call.writes:
            label = self._label(program, in_flight, at, call)
            serial = serial_of(label, world.issued.get(label) or 0)
        current = tuple([is_current(state, met) for met in in_flight.versions])
        question = (
            program.number,
            in_flight.node.id,
            at,
            world.objects,
            serial,
            current,
            in_flight.uuids,
            state.resource_version if self._exact else 0,
        )
        outcome = self._outcomes.get(question)
        if outcome is None or not self._remember:
            outcome = self._outcomes[question] = self.computed(state, program, in_flight, call, serial)
            if self.record is not None:
                count = world.issued.get(label) or 0
                self._add(Computed(state, label, count, outcome, program, in_flight, call))
            if self._is_shared and outcome.registry is None:
                self.fresh.append((question, outcome))
        return outcome, label

    def forget(self) -> None:
        """Forget all outcomes: they are computed again."""
        self._outcomes.clear()
        self._labels.clear()

    def start_record(self) -> None:
        """Record all requests from now on, also those whose outcomes are known: these are forgotten."""
        self.forget()
        self.record = []

    def share(self) -> None:
        """Collect fresh outcomes from now on, for other processes."""
        self._is_shared = self._remember

    def take(self, outcomes: Iterable[tuple[tuple[object, ...], Outcome]]) -> None:
        """Take over outcomes that other processes have computed."""
        if self._remember:
            for question, outcome in outcomes:
                self._outcomes.setdefault(question, outcome)

    def computed(self, state: State, program: Program, in_flight: InFlight, call: Call, serial: int) -> Outcome:
        """The outcome of a call in a cluster, whatever is known."""
        reads = Reads(resources=set(_ROUTING))
        outcome = self._computed(WatchedState.of(state, reads), program, in_flight, call, serial)
        if call.verb in _SELECTING:
            reads.resources.discard(self._key_of(state, call.kind))
        self._reads.setdefault((program.number, in_flight.request), Reads()).add(reads)
        return outcome

    def _key_of(self, state: State, kind: str) -> str:
        try:
            return self.resource(state, kind).key
        except UnknownKind:
            return ""

    def _computed(self, state: State, program: Program, in_flight: InFlight, call: Call, serial: int) -> Outcome:
        try:
            resource = self.resource(state, call.kind)
        except UnknownKind as error:
            text = orjson.dumps(error.status())
            return Outcome(("!", text), b"!" + text, (), (), 0, None, None, Answer(Refusal(404, "NotFound")))
        body = bind(call.body, tuple(version[2] for version in in_flight.versions), in_flight.uuids)
        if call.kind == EXTERNAL and call.subresource == CALL:
            after, response = _called_outside(state, program, resource, call, body)
            return outcome_of(in_flight, call, resource, response, state, after, issued=0, exact=self._exact)
        request = ApiRequest(
            METHODS[call.verb],
            path_of(call, resource.plural, namespaced=resource.namespaced),
            {name: (value,) for name, value in call.query},
            body,
            content_type=call.content_type,
            user_agent=program.controller.name,
        )
        before = state.replace(serial=serial) if call.writes else state
        after, response = handle(before, request)
        issued = int(call.writes and after.serial != serial)
        return outcome_of(in_flight, call, resource, response, before, after, issued=issued, exact=self._exact)

    def act(self, world: World, user: Writer, action: Action) -> tuple[Outcome, str]:
        """The outcome of an action of a user, and the label of the identities it hands out."""
        label = chosen(f"{action.kind}\0{action.key}", self._choice)
        count = world.issued.get(label) or 0
        serial = serial_of(label, count)
        version = world.state.resource_version if self._exact else 0
        question = (-1, user.name, id(action), world.objects, serial, version)
        outcome = self._outcomes.get(question)
        if outcome is None or not self._remember:
            reads = self._reads.setdefault(id(action), Reads(resources=set(_ROUTING)))
            outcome = self._outcomes[question] = acted(WatchedState.of(world.state, reads), user, action, serial)
            if self.record is not None:
                self._add(Computed(world.state, label, count, outcome, user=user, action=action))
        return outcome, label

    def _add(self, computed: Computed) -> None:
        """Add to the record; it is given up where it gets too long."""
        if self.record is not None and len(self.record) < _MOST_RECORDED:
            self.record.append(computed)
        else:
            self.record = None

    def _label(self, program: Program, in_flight: InFlight, at: int, call: Call) -> str:
        """The object that a write is about: identities are counted by it."""
        question = (program.number, in_flight.node.id, at, in_flight.uuids)
        label = self._labels.get(question)
        if label is None:
            name = call.name
            if call.verb == "create" and not call.subresource:
                body: Any = orjson.loads(bind(call.body, tuple(met[2] for met in in_flight.versions), in_flight.uuids))
                metadata = (body.get("metadata") or {}) if isinstance(body, dict) else {}
                name = metadata.get("name") or f"{metadata.get('generateName') or ''}*"
            label = chosen(f"{call.kind}\0{Key(call.namespace, str(name))}", self._choice)
            self._labels[question] = label
        return label


def _called_outside(
    state: State, program: Program, resource: Resource, call: Call, body: bytes
) -> tuple[State, ApiResponse]:
    """The cluster after a call of something outside, whose state an object there holds, and the response."""
    assert isinstance(program.controller, ForeignController)
    held = state.find(resource.key, call.key)
    before = orjson.loads(held.body)["state"] if held is not None else None
    result = program.controller.called(call.name, before, orjson.loads(body))
    path = path_of(replace(call, subresource=""), resource.plural, namespaced=False)
    change = orjson.dumps([{"op": "replace", "path": "/state", "value": result.state}])
    request = ApiRequest("PATCH", path, {}, change, content_type=_JSON_PATCH, user_agent=program.controller.name)
    after, response = handle(state, request)
    if response.code < 400:
        response.body = {"answer": dict(result.answer), **response.body}
    return after, response


def serial_of(label: str, count: int) -> int:
    """The serial from which the server counts identities for a label, after ``count`` requests that were about it."""
    resource, _, name = label.partition("\0")
    return first_serial(resource, name, count)


def acted(before: State, user: Writer, action: Action, serial: int) -> Outcome:
    """The outcome of an action of a user in a cluster."""
    cluster = Cluster(state=before.replace(serial=serial))
    answer = OK
    try:
        action.perform(cluster, user.name)
    except ApiError as error:
        answer = Answer(Refusal(error.http_code, error.status_reason, error.message))
    after = cluster.state
    registry = after.registry if after.registry is not before.registry else None
    writes = tuple(after.changes_since(before.resource_version))
    return Outcome((), b"", (), writes, int(after.serial != serial), registry, None, answer)
