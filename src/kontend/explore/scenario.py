"""What is explored: controllers, objects, what users do meanwhile, what must hold, and within which bounds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kontend.cluster.cluster import Cluster
from kontend.kube.names import kind_of
from kontend.runtime.controller import Controller
from kontend.runtime.controller import check as check_controller
from kontend.runtime.guards import Guards

#: A question about a cluster as it is, or (two arguments) about one write: the cluster before it and after it.
Predicate = Callable[..., object]


class BadScenario(ValueError):
    """A scenario that cannot be explored as it is written; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far the explorer goes. Everything within is tried; nothing beyond."""

    #: How many events a cache may be behind, for each kind.
    lag: int = 1
    #: How many instances of each controller run at once, each with its own cache and queue.
    concurrent: int = 1
    #: Whether a reconcile is one move: nothing happens between its calls. Far fewer worlds, and far fewer bugs.
    atomic: bool = False
    #: Where the search stops, and says so: numbers of worlds and moves, seconds, MiB of memory.
    worlds: int = 1_000_000
    moves: int = 10_000_000
    seconds: int | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("lag", 0), ("concurrent", 1), ("worlds", 1), ("moves", 1), ("seconds", 1), ("memory", 1)):
            value = getattr(self, name)
            if value is None and name in ("seconds", "memory"):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise BadScenario(f"Bounds({name}={value!r}): expected a whole number, at least {least}")

    def __str__(self) -> str:
        return f"lag ≤ {self.lag}, concurrent ≤ {self.concurrent}{', atomic' * self.atomic}"


@dataclass(frozen=True, slots=True)
class Reductions:
    """What is not tried because it cannot end differently. Each can be switched off, to see that it is so."""

    #: Instances of one controller that have changed places are the same world.
    symmetry: bool = True
    #: A call that meets the same objects has the same outcome, and the server is not asked again.
    outcomes: bool = True
    #: A uuid is chosen when it is first written, not when it is drawn.
    uuids: bool = True
    #: Events are delivered, and retries come due, just before somebody can tell: when a reconcile starts or reads.
    deliveries: bool = True
    #: Cached reads are one move with what the reconcile did before them (needs ``deliveries``).
    reads: bool = True
    #: Two moves that do not touch each other are made in one order; where the other one leads is known.
    sleep: bool = True
    #: A write that concerns nobody else is made at once, before all other moves.
    persistent: bool = True


@dataclass(frozen=True, slots=True)
class Property:
    """Something that must hold."""

    mode: Literal["always", "never", "eventually", "sometimes"]
    predicate: Predicate
    name: str
    #: 1 for a question about a cluster, 2 for one about a write.
    arity: int


def always(predicate: Predicate, *, name: str = "") -> Property:
    """Holds in every world (or, with two arguments, for every write)."""
    return _property("always", predicate, name)


def never(predicate: Predicate, *, name: str = "") -> Property:
    """Holds in no world (or for no write)."""
    return _property("never", predicate, name)


def eventually(predicate: Predicate, *, name: str = "") -> Property:
    """Holds when everything has settled, however it came to that; and it does settle, or passes through it for ever."""
    return _property("eventually", predicate, name)


def sometimes(predicate: Predicate, *, name: str = "") -> Property:
    """Holds in at least one world: guards against scenarios in which nothing happens."""
    return _property("sometimes", predicate, name)


def _property(mode: Any, predicate: Predicate, name: str) -> Property:
    if not callable(predicate):
        raise BadScenario(f"{mode}: expected a function of a cluster, found {predicate!r}")
    arity = len(inspect.signature(predicate).parameters)
    made = Property(mode, predicate, name or getattr(predicate, "__name__", mode), arity)
    wanted = (1,) if mode in ("eventually", "sometimes") else (1, 2)
    if made.arity not in wanted:
        expected = "(cluster)" if wanted == (1,) else "(cluster) or (before, after)"
        raise BadScenario(f"{mode}({made.name}): expected a function of {expected}, it has {made.arity} arguments")
    return made


@dataclass(frozen=True, slots=True)
class Action:
    """What a user does, once, at any time after the actions before it."""

    text: str
    perform: Callable[[Cluster], object]
    #: Kind and name, for the checks before the search.
    kind: str


def create(obj: Mapping[str, Any]) -> Action:
    """A user creates an object."""
    return Action(f"creates {_named(obj)}", lambda cluster: cluster.create(obj, manager="user"), str(kind_of(obj)))


def update(obj: Mapping[str, Any], **fields: Any) -> Action:
    """A user sets top-level fields of an object, such as ``spec={"size": 3}``, merged into what is there."""
    return patch(obj, fields)


def patch(obj: Mapping[str, Any], change: Mapping[str, Any]) -> Action:
    """A user applies a merge patch to an object."""
    kind, name, namespace = _address(obj)
    text = f"changes {_named(obj)}: {', '.join(change)}"
    return Action(text, lambda cluster: cluster.patch(kind, name, change, namespace=namespace, manager="user"), kind)


def delete(obj: Mapping[str, Any]) -> Action:
    """A user deletes an object."""
    kind, name, namespace = _address(obj)
    return Action(f"deletes {_named(obj)}", lambda cluster: cluster.delete(kind, name, namespace=namespace), kind)


def _address(obj: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = obj.get("metadata") or {}
    if not metadata.get("name"):
        raise BadScenario("an action needs an object with a name")
    return str(kind_of(obj)), metadata["name"], metadata.get("namespace") or "default"


def _named(obj: Mapping[str, Any]) -> str:
    kind, name, namespace = _address(obj)
    return f"{kind.partition('.')[0].partition('/')[0]} {namespace}/{name}"


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything the explorer needs to know."""

    controllers: Sequence[Controller]
    objects: Sequence[Mapping[str, Any]] = ()
    crds: Sequence[Mapping[str, Any]] = ()
    actions: Sequence[Action] = ()
    properties: Sequence[Property] = ()
    bounds: Bounds = field(default_factory=Bounds)
    guards: Guards = field(default_factory=lambda: Guards(fencing=False))
    name: str = ""
    reductions: Reductions = field(default_factory=Reductions)

    def cluster(self) -> Cluster:
        """The cluster at the start."""
        return Cluster(crds=self.crds, objects=self.objects, manager="user")

    def assert_discovery(self, name: str, moves: Sequence[str]) -> None:
        """Fail unless these moves, as a story tells them, are possible one after the other and violate a property.

        This pins a counterexample in a test: it fails when the bug is gone, and when the way to it has changed.
        """
        from kontend.explore.pinned import violated_along  # it needs all of the explorer, which needs scenarios

        violated = violated_along(self, moves)
        if name not in violated:
            found = f"they violate {', '.join(sorted(violated))}" if violated else "nothing is violated"
            raise AssertionError(f"the moves are possible, but {name} holds: {found}")

    def check(self) -> Cluster:
        """Refuse what could only go wrong later. Returns the cluster at the start."""
        if not self.controllers:
            raise BadScenario("Scenario(controllers=[]): there is nothing to explore without a controller")
        for controller in self.controllers:
            check_controller(controller)
        names = [controller.name for controller in self.controllers]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise BadScenario(f"two controllers are called {', '.join(sorted(twice))}; give one another name = ...")
        cluster = self.cluster()
        for kind in _kinds(self):
            cluster.list(kind)  # raises UnknownKind with the way out
        for each in self.properties:
            if not isinstance(each, Property):
                raise BadScenario(f"properties: expected always(...), never(...) ..., found {each!r}")
        for action in self.actions:
            if not isinstance(action, Action):
                raise BadScenario(f"actions: expected create(...), update(...) ..., found {action!r}")
        return cluster


def _kinds(scenario: Scenario) -> Iterable[str]:
    for controller in scenario.controllers:
        yield from controller.kinds
    for action in scenario.actions:
        yield action.kind
