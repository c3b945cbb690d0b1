"""Perturbations for an existing test suite: ``KONTEND_GATE`` as seeded noise or as a plan.

    KONTEND_GATE=lag=0.2,conflicts=0.1,seed=7     events up to 0.2 s late; one locked write in ten is refused
    KONTEND_GATE=plan.yaml                        failures and lost responses of a plan

Noise depends on the seed, the call and its number among equal calls, not on the order of requests, so that the same
calls meet the same noise in every run.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import xxhash

from kontend.cluster.state import State
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.encoding.json_text import MalformedYAML, parse_yaml
from kontend.kube.errors import ApiError
from kontend.live.gate.call import LEASES, Call, describe, is_locked
from kontend.live.gate.decisions import Decisions
from kontend.live.gate.perturbation import FAILURES, Fail, LoseResponse
from kontend.live.gate.plan import BadPlan, plan_of
from kontend.serve.gate import Events, OpenWatch
from kontend.serve.requests.exchange import Answer, Exchange
from kontend.serve.server import Server

_NAMES: Final = ("lag", "conflicts", "failures", "seed")


class BadGate(Exception):
    """A value of KONTEND_GATE that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Seeded perturbations: seconds by which events may be late, and the shares of calls that are refused."""

    lag: float = 0.0
    conflicts: float = 0.0
    failures: float = 0.0
    seed: int = 0

    def draw(self, kind: str, text: str, number: int) -> float:
        """Return a number from 0 to 1 that is always the same for the same call."""
        digest = xxhash.xxh3_64_intdigest(f"{self.seed} {kind} {text} {number}".encode())
        return digest / 2**64


def parse_gate(text: str) -> NoiseGate:
    """Read the value of KONTEND_GATE; raises :class:`BadGate`.

    >>> parse_gate("lag=0.5,seed=3").noise
    Noise(lag=0.5, conflicts=0.0, failures=0.0, seed=3)
    """
    if "=" not in text:
        return NoiseGate(Noise(), _decisions(Path(text)))
    values: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in _NAMES:
            raise BadGate(f"KONTEND_GATE: there is no {name!r}; there are {', '.join(_NAMES)}, or the path of a plan")
        try:
            values[name] = int(value) if name == "seed" else float(value)
        except ValueError:
            raise BadGate(f"KONTEND_GATE: {name} is a number, found {value!r}") from None
    return NoiseGate(Noise(**values), Decisions(()))  # type: ignore[arg-type]


def _decisions(path: Path) -> Decisions:
    try:
        plan = plan_of(parse_yaml(path.read_bytes())[0])
    except OSError as error:
        raise BadGate(f"KONTEND_GATE {path}: {error.strerror}") from None
    except (MalformedYAML, BadPlan) as error:
        raise BadGate(f"KONTEND_GATE {path}: {error}") from None
    others = [
        perturbation.kind for perturbation in plan.perturbations if not isinstance(perturbation, Fail | LoseResponse)
    ]
    if others:
        raise BadGate(f"KONTEND_GATE {path}: {', '.join(others)} needs kontend live; a suite can have fail and lose")
    return Decisions(plan.perturbations)


class _LateTap:
    """Sends the events of a watch late, in order."""

    def __init__(self, watch: OpenWatch, noise: Noise) -> None:
        self._watch = watch
        self._noise = noise
        self._due = 0.0
        self._count = 0
        self._open = True

    def offer(self, events: Events) -> None:
        """Send events after a while; never before those that came earlier."""
        loop = asyncio.get_running_loop()
        for version, data in events:
            if version <= self._watch.version:
                self._watch.push(data, 1)
                continue
            self._count += 1
            delay = self._noise.lag * self._noise.draw("lag", self._watch.resource, self._count)
            self._due = max(self._due, loop.time() + delay)
            loop.call_at(self._due, self._send, data)

    def _send(self, data: bytes) -> None:
        if self._open:
            self._watch.push(data, 1)

    def closed(self) -> None:
        """Drop what has not been sent."""
        self._open = False


class NoiseGate:
    """The gate of a test suite."""

    def __init__(self, noise: Noise, decisions: Decisions) -> None:
        self.noise = noise
        self._decisions = decisions
        self._server: Server | None = None
        self._count: Counter[tuple[str, Call]] = Counter()
        self._calls: dict[Exchange, Call] = {}
        self._lost: dict[Exchange, LoseResponse | Fail] = {}

    def attach(self, server: Server) -> None:
        """Work for a server."""
        self._server = server

    def admits(self, exchange: Exchange) -> bool:
        """Refuse a request, or let it pass."""
        assert self._server is not None  # attached before it serves
        registry = self._server.state.registry
        call = describe(self._server.state, exchange.request, {})
        if call is None or call.resource == LEASES:
            return True
        self._calls[exchange] = call
        decision = self._decisions.at_arrival(call)
        error = decision.error if isinstance(decision, Fail) else ""
        if not error and call.writes and is_locked(registry, exchange.request):
            error = "409" if self._hits("conflicts", call, self.noise.conflicts) else ""
        if not error and call.writes:
            error = "500" if self._hits("failures", call, self.noise.failures) else ""
        if not error:
            return True
        self._refuse(exchange, error)
        return False

    def _hits(self, kind: str, call: Call, share: float) -> bool:
        if not share:
            return False
        self._count[kind, call] += 1
        return self.noise.draw(kind, str(call), self._count[kind, call]) < share

    def _refuse(self, exchange: Exchange, error: str) -> None:
        assert self._server is not None  # attached before it serves
        code, reason = FAILURES[error]
        self._calls.pop(exchange, None)
        answer = ApiResponse.of_error(ApiError(f"injected by kontend: {reason}", code=code, reason=reason))
        self._server.answer(exchange, answer)

    def view(self, exchange: Exchange, state: State) -> State:  # noqa: ARG002 - the seam
        """Return the current state."""
        return state

    def committed(self, exchange: Exchange, before: State, after: State, response: ApiResponse) -> None:
        """Note which responses get lost."""
        call = self._calls.get(exchange)
        if call is None or response.code >= 400 or after.resource_version == before.resource_version:
            return
        for decision in self._decisions.after_commit(call):
            if isinstance(decision, LoseResponse | Fail):
                self._lost[exchange] = decision

    def releases(self, exchange: Exchange, response: ApiResponse, answer: Answer) -> bool:  # noqa: ARG002 - the seam
        """Send an answer, or lose it."""
        self._calls.pop(exchange, None)
        decision = self._lost.pop(exchange, None)
        if isinstance(decision, LoseResponse):
            exchange.connection.abort()
        elif isinstance(decision, Fail):
            self._refuse(exchange, decision.error)
        return decision is None

    def tap(self, exchange: Exchange, watch: OpenWatch) -> _LateTap | None:
        """Return the tap of a new watch, if events are to be late."""
        self._calls.pop(exchange, None)
        return _LateTap(watch, self.noise) if self.noise.lag and watch.resource != LEASES else None
