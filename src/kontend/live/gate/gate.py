"""The gate: it sits between the HTTP shell and the API server, and knows each process by its port.

It carries out the decisions of a plan, holds back events, and records everything, including the versions that each
process had been sent when it wrote.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from kontend.cluster.request import route
from kontend.cluster.state import Change, State
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.errors import ApiError
from kontend.kube.meta.names import Key, kind_of
from kontend.live.gate.activity import Activity
from kontend.live.gate.call import LEASES, Call, describe, is_locked
from kontend.live.gate.decisions import Decisions
from kontend.live.gate.election import elects
from kontend.live.gate.perturbation import (
    CONFLICT,
    FAILURES,
    TOUCHED,
    Act,
    Ask,
    Crash,
    Delay,
    Fail,
    HandOver,
    LoseResponse,
)
from kontend.live.gate.records import Delivery, Happening, Log, Request, Sent
from kontend.live.gate.tap import Tap
from kontend.live.pods.pods import Pods
from kontend.serve.gate import OpenWatch
from kontend.serve.requests.exchange import Answer, Exchange
from kontend.serve.server import Server


class Conductor(Protocol):
    """Carries out the decisions that concern processes and users."""

    def crash(self) -> None:
        """Kill the primary instance, now."""

    def act(self, *, unseen: bool) -> None:
        """Take the next action of the user, now."""

    def ask(self) -> None:
        """Ask the primary instance for its stacks, now."""

    def written(self, request: Request) -> None:
        """Note that a write has changed something."""

    def delayed(self, release: Callable[[], None], *, hand_over: bool) -> None:
        """Note that a write of the primary instance waits, for another instance or for idleness; and how it goes on."""


class LiveGate:
    """The gate of one run."""

    def __init__(
        self,
        decisions: Decisions,
        conductor: Conductor,
        *,
        primary: str,
        background: frozenset[Call] = frozenset(),
        pods: Pods | None = None,
    ) -> None:
        """``pods`` answer requests to them; without any they are refused, because nothing runs."""
        self._pods = pods
        self._decisions = decisions
        self._conductor = conductor
        self._primary = primary
        self.activity = Activity(background)
        self.server: Server | None = None
        #: The processes by the ports of the server that they use. clientcmd sends tokens over TLS only.
        self.ports: dict[int, str] = {}
        self.log = Log()
        #: The number of actions that the user has taken.
        self.action = 0
        self._began = asyncio.get_running_loop().time()
        self._open: dict[Exchange, Request | None] = {}
        #: Answers that are not to be sent as they are, or after whose sending the process is to crash.
        self._decided: dict[Exchange, LoseResponse | Fail | Crash | Act] = {}
        #: The process crashes at its next write, or when it is idle.
        self.doomed = False
        self._held: set[str] = set()
        self._taps: dict[Tap, None] = {}
        self._received: dict[str, set[Sent]] = {}
        self._changes: dict[int, Change] = {}
        self._seen = 0
        #: Names that the server has generated, and what stands for them in calls.
        self.generated: dict[str, str] = {}
        #: States from which lists are answered, by resource.
        self.rewound: dict[str, State] = {}

    # What the runner asks

    @property
    def state(self) -> State:
        """The current state."""
        assert self.server is not None  # set before the first request
        return self.server.state

    def now(self) -> float:
        """Return the seconds since the run began."""
        return asyncio.get_running_loop().time() - self._began

    @property
    def last_activity(self) -> dict[str, float]:
        """Return when each process last worked."""
        return self.activity.last

    def in_progress(self, process: str) -> int:
        """Return the number of requests of a process that count as work and have no answer yet."""
        return sum(
            self._process(exchange) == process and self.activity.counts(request.call if request else None)
            for exchange, request in self._open.items()
        )

    def undelivered(self) -> int:
        """Return the number of events that are held back."""
        return sum(len(tap.queue) for tap in self._taps)

    def watched(self, process: str) -> set[str]:
        """Return the resources that a process watches now."""
        return {tap.resource for tap in self._taps if tap.process == process}

    def hold(self, resource: str) -> None:
        """Hold back the events of a resource for the primary instance."""
        self._held.add(resource)

    def release(self, resource: str) -> bool:
        """Let the events of a resource pass again; return whether any were held back."""
        self._held.discard(resource)
        taps = [tap for tap in self._taps if tap.process == self._primary and tap.resource == resource and tap.queue]
        for tap in taps:
            tap.release()
        return bool(taps)

    def expire(self, resource: str) -> bool:
        """End the watches of a resource of the primary instance with 410; return whether there were any."""
        self._held.discard(resource)
        taps = [tap for tap in self._taps if tap.process == self._primary and tap.resource == resource]
        for tap in taps:
            tap.expire()
        return bool(taps)

    def forget_process(self, process: str) -> None:
        """Forget what a process knows: it has been killed."""
        self._received.pop(process, None)
        self.activity.forget(process)
        self.doomed = self.doomed and process != self._primary
        for exchange in [other for other in self._open if self._process(other) == process]:
            del self._open[exchange]
        for tap in [tap for tap in self._taps if tap.process == process]:
            del self._taps[tap]

    # The seam

    def holds(self, process: str, resource: str) -> bool:
        """Return whether events of a resource are held back."""
        return process == self._primary and resource in self._held

    def admits(self, exchange: Exchange) -> bool:
        """Record a request, and decide whether it goes on."""
        process = self._process(exchange)
        call = describe(self.state, exchange.request, self.generated)
        self.activity.note_request(process, call)
        if call is None:
            self._open[exchange] = None
            return True
        name = call.name if not call.name.endswith("*") else ""
        request = Request(len(self.log.records) + 1, process, call, self.now(), self.action, Key(call.namespace, name))
        request.locked = call.writes and is_locked(self.state.registry, exchange.request)
        request.may_be_old = _may_be_old(exchange, call)
        if call.writes:
            # Not when it is carried out: a write that takes long was decided with what was known when it was sent.
            request.received = frozenset(self._received.get(process, ()))
        self.log.add(request)
        self._open[exchange] = request
        if self.doomed and call.writes and process == self._primary:
            request.dropped = True
            self.doomed = False
            self._conductor.crash()
            return False
        decision = self._decisions.at_arrival(call) if process == self._primary else None
        if isinstance(decision, Fail):
            request.perturbation = decision
            if decision.error == CONFLICT and self._touch(request):
                return True  # the server itself refuses it now, and the process gets the event of the newer version
            self._refuse(exchange, request, decision.error)
            return False
        if isinstance(decision, Ask):
            request.perturbation = decision
            self._conductor.ask()
            return False
        if isinstance(decision, Delay | HandOver):
            request.perturbation = decision
            del self._open[exchange]
            hand_over = isinstance(decision, HandOver)
            self._conductor.delayed(lambda: self._resume(exchange, request), hand_over=hand_over)
            return False
        return self._pods is None or not self._asks_pod(exchange, request, self._pods)

    def _asks_pod(self, exchange: Exchange, request: Request, pods: Pods) -> bool:
        """Let a pod answer a request, if one does."""
        try:
            found = pods.find(self.state, route(self.state.registry, exchange.request), exchange)
        except ApiError:
            return False  # the server itself refuses it
        if found is None:
            return False

        def done(response: ApiResponse) -> None:
            if self._open.pop(exchange, None) is not None:  # unless the process has been killed meanwhile
                self.activity.note_answer(request.process, request.call)
                self._note_answer(request, response)
                request.message = _message(response) if isinstance(response.body, dict) else ""
            if isinstance(response.body, str) or response.code >= 400:  # the others have left HTTP
                exchange.send(exchange.encoded(response))

        try:
            pods.answer(found, exchange, done)
        except ApiError as error:
            done(ApiResponse.of_error(error))
        return True

    def _touch(self, request: Request) -> bool:
        """Change the object of a locked write, as another writer would, if the process watches it.

        A conflict means that there is a newer version. A process may drop the error and rely on the event of that
        version, which an answer that the server has not made would never bring.
        """
        call, server = request.call, self.server
        version = self.state.find(call.resource, request.key)
        if server is None or version is None or not request.locked:
            return False
        if call.resource not in self.watched(request.process):
            return False
        before, content = self.state, version.content()
        change = {"metadata": {"annotations": {TOUCHED: str(version.resource_version)}}}
        try:
            server.cluster.patch(
                str(kind_of(content)), request.key.name, change, namespace=request.key.namespace, manager="another"
            )
        except ApiError:
            return False
        text = f"another writer changes {content.get('kind')} {request.key}"
        self.log.add(Happening("another", "act", text, self.now(), self.action, before, self.state))
        return True

    def _resume(self, exchange: Exchange, request: Request) -> None:
        assert self.server is not None  # the request came from it
        self._open[exchange] = request
        self.server.proceed(exchange)

    def view(self, exchange: Exchange, state: State) -> State:
        """Return an earlier state for lists that allow one, while the process is rewound."""
        request = self._open.get(exchange)
        if not self.rewound or request is None or request.process != self._primary:
            return state
        if not request.may_be_old:
            return state
        return self.rewound.get(request.call.resource, state)

    def committed(self, exchange: Exchange, before: State, after: State, response: ApiResponse) -> None:
        """Record a write, and carry out what the plan has for it."""
        request = self._open.get(exchange)
        if request is None:
            return
        request.code = response.code
        if response.code >= 400:
            return
        request.before, request.after = before, after
        self._learn_names(request)
        if request.changed:
            self.activity.note_change(request.process)
        if not request.changed or not request.call.writes:
            return
        decisions = self._decisions.after_commit(request.call) if request.process == self._primary else []
        for decision in decisions:
            request.perturbation = decision
            if isinstance(decision, Act):
                self._conductor.act(unseen=decision.unseen)
                if not decision.unseen:
                    self._decided[exchange] = decision
            elif isinstance(decision, Crash) and not decision.answered:
                self._conductor.crash()
            elif isinstance(decision, LoseResponse | Fail | Crash):
                self._decided[exchange] = decision
        self._conductor.written(request)

    def releases(self, exchange: Exchange, response: ApiResponse, answer: Answer) -> bool:  # noqa: ARG002 - the seam
        """Record an answer, and decide whether it is sent."""
        if exchange not in self._open:
            return True
        decision = self._decided.pop(exchange, None)
        self.doomed = self.doomed or isinstance(decision, Crash)
        request = self._open.pop(exchange)
        self.activity.note_answer(self._process(exchange), request.call if request else None)
        if request is None:
            return True
        if isinstance(decision, LoseResponse):
            self.activity.note_outcome(request.process, request.call, failed=True)
            exchange.connection.abort()
            return False
        if isinstance(decision, Fail):
            self._open[exchange] = request
            self._refuse(exchange, request, decision.error)
            return False
        if isinstance(decision, Act):
            # The process sees what the user has done first, on any machine.
            self._conductor.delayed(lambda: self._answer_late(exchange, request, response), hand_over=False)
            return False
        self._note_answer(request, response)
        return True

    def _answer_late(self, exchange: Exchange, request: Request, response: ApiResponse) -> None:
        assert self.server is not None  # the request came from it
        self.activity.note_answer(request.process, request.call)
        self._note_answer(request, response)
        self.server.answer(exchange, response)

    def _note_answer(self, request: Request, response: ApiResponse) -> None:
        """Note the outcome of a request and the versions that its answer shows."""
        request.code = response.code
        # An object that is not there is an answer to a read or a deletion.
        failed = response.code >= 400 and (response.code != 404 or request.call.verb in ("update", "patch"))
        self.activity.note_outcome(request.process, request.call, failed=failed)
        if response.code >= 400:
            request.message = _message(response)
        else:
            request.shown = tuple(_shown(request.call.resource, response.body))
            self._received.setdefault(request.process, set()).update(request.shown)

    def tap(self, exchange: Exchange, watch: OpenWatch) -> Tap:
        """Return the tap of a new watch."""
        request = self._open.pop(exchange, None)
        if request is not None:
            request.code = 200
        tap = Tap(self, self._process(exchange), watch, _known_version(exchange, watch))
        self._taps[tap] = None
        return tap

    def forget(self, tap: Tap) -> None:
        """Forget a watch that has ended."""
        self._taps.pop(tap, None)

    def delivers(self, tap: Tap, versions: list[int]) -> None:
        """Record events that are sent."""
        sent = tuple(self._sent(tap.resource, version) for version in versions)
        known = tuple(event for event in sent if event is not None)
        renewals = [event for event in known if elects(self.state, tap.resource, event[1])]
        if tap.resource != LEASES and not (renewals and len(renewals) == len(sent)):
            self.activity.note_work(tap.process)
        if known:
            self._received.setdefault(tap.process, set()).update(known)
            self.log.add(Delivery(tap.process, tap.resource, known, self.now(), self.action))

    # Parts

    def _process(self, exchange: Exchange) -> str:
        return self.ports.get(exchange.connection.port, "")

    def _sent(self, resource: str, version: int) -> Sent | None:
        """Return the version that a change has made."""
        state = self.state
        if version not in self._changes and state.resource_version > self._seen:
            for change in state.changes_since(self._seen):
                self._changes[change.resource_version] = change
            self._seen = state.resource_version
        made = self._changes.get(version)
        return None if made is None or made.resource != resource else (resource, made.key, version)

    def _learn_names(self, request: Request) -> None:
        """Note the names that the server has generated, and the key of a created object."""
        if request.call.verb != "create":
            return
        for change in request.changes:
            if change.resource != request.call.resource or change.new is None:
                continue
            request.key = change.key
            if request.call.name.endswith("*"):
                self.generated[change.key.name] = request.call.name

    def _refuse(self, exchange: Exchange, request: Request, error: str) -> None:
        """Answer with an error that the server has not made."""
        assert self.server is not None  # the request came from it
        code, reason = FAILURES[error]
        self._open.pop(exchange, None)
        self.activity.note_work(request.process)
        request.code, request.message = code, f"{reason} (injected)"
        self.activity.note_outcome(request.process, request.call, failed=True)
        response = ApiResponse.of_error(ApiError(f"injected by kontend: {reason}", code=code, reason=reason))
        self.server.answer(exchange, response)


def _may_be_old(exchange: Exchange, call: Call) -> bool:
    """Return whether a request allows a list that is not the latest."""
    return call.verb in ("list", "watch") and exchange.request.first("resourceVersion") == "0"


def _known_version(exchange: Exchange, watch: OpenWatch) -> int:
    """Return the version from which the events of a watch are changes, and not parts of a list."""
    version = exchange.request.first("resourceVersion")
    begins_with_list = exchange.request.first("sendInitialEvents") == "true" or not version.isdecimal()
    return watch.version if begins_with_list else int(version) or watch.version


def _message(response: ApiResponse) -> str:
    body = response.body
    return str(body.get("message", "")) if isinstance(body, dict) else str(body)


def _shown(resource: str, body: object) -> list[Sent]:
    """Return the versions of objects that an answer shows."""
    if not isinstance(body, dict):
        return []
    items = body.get("items") if isinstance(body.get("items"), list) else [body]
    shown = []
    for item in items or ():
        metadata = item.get("metadata") if isinstance(item, dict) else None
        if isinstance(metadata, dict) and metadata.get("name") and str(metadata.get("resourceVersion", "")).isdecimal():
            key = Key(metadata.get("namespace", ""), metadata["name"])
            shown.append((resource, key, int(metadata["resourceVersion"])))
    return shown
