"""What is explored: controllers, objects, what users do meanwhile, what must hold, and within which bounds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final, Literal

from kontend.cluster.cluster import Cluster
from kontend.explore.place import Place, caller, raised_at
from kontend.kube.meta.names import Key, kind_of
from kontend.runtime.controller import Controller
from kontend.runtime.guards import Guards

#: A question about a cluster as it is, or (two arguments) about one write: the cluster before it and after it.
Predicate = Callable[..., object]
#: What is checked in every scenario, by the names under which it is reported.
BUILT_IN: Final = (
    "lost update",
    "settles",
    "same end",
    "another object",
    "vanished element",
    "observed generation",
    "retried for ever",
)
#: The least that each bound may be.
LEAST: Final = {"lag": 0, "concurrent": 1, "worlds": 1, "moves": 1, "seconds": 1, "memory": 1}
#: Bounds that need not be set.
_OPTIONAL: Final = ("seconds", "memory")


class BadScenario(ValueError):
    """A scenario that cannot be explored as it is written; the message says where, and what to change."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message if place is None else f"{place}: {message}")
        self.message = message
        self.place = place


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
    moves: int = 50_000_000
    seconds: int | None = None
    memory: int | None = None
    #: The line on which it was made, for messages; bounds that were made elsewhere can be equal.
    place: Place | None = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is None and name in _OPTIONAL:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise BadScenario(f"Bounds({name}={value!r}): expected a whole number, at least {least}", self.place)
        if not isinstance(self.atomic, bool):
            raise BadScenario(f"Bounds(atomic={self.atomic!r}): expected True or False", self.place)

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
    place: Place | None = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.mode}({self.name})"


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
        raise BadScenario(f"{mode}: expected a function of a cluster, found {predicate!r}", caller())
    try:
        arity = _arity(predicate)
    except ValueError as error:
        raise BadScenario(f"{mode}: expected a function of a cluster: {error}", caller()) from error
    made = Property(mode, predicate, name or getattr(predicate, "__name__", mode), arity)
    if inspect.iscoroutinefunction(predicate):
        raise BadScenario(f"{made}: expected a function that answers at once; write def, not async def", made.place)
    wanted = (1,) if mode in ("eventually", "sometimes") else (1, 2)
    if made.arity not in wanted:
        expected = "(cluster)" if wanted == (1,) else "(cluster) or (before, after)"
        raise BadScenario(f"{made}: expected a function of {expected}, it has {made.arity} arguments", made.place)
    return made


def _arity(predicate: Predicate) -> int:
    """How many arguments a function must be given; those with a default are its own affair."""
    parameters = inspect.signature(predicate).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return sum(each.default is each.empty and each.kind not in variadic for each in parameters)


def holds(each: Property, *clusters: Cluster, when: str = "in the middle of the search") -> bool:
    """The answer of a property. One that raises has none: that is a mistake in the scenario, not a violation."""
    try:
        return bool(each.predicate(*clusters))
    except Exception as error:
        raise BadScenario(
            f"{each} raised {type(error).__name__}: {error} ({when}); "
            "a property must have an answer for every cluster, also where something is not there",
            raised_at(error) or each.place,
        ) from error


@dataclass(frozen=True, slots=True)
class Action:
    """What a user does, once, at any time after the actions before it."""

    text: str
    perform: Callable[[Cluster], object]
    #: What it is about.
    kind: str
    key: Key
    place: Place | None = field(default_factory=caller, kw_only=True, compare=False, repr=False)


def create(obj: Mapping[str, Any]) -> Action:
    """A user creates an object."""
    kind, name, namespace = _address("create", obj)
    text = f"creates {_named(obj)}"
    return Action(text, lambda cluster: cluster.create(obj, manager="user"), kind, Key(namespace, name))


def update(obj: Mapping[str, Any], **fields: Any) -> Action:
    """A user sets top-level fields of an object, such as ``spec={"size": 3}``, merged into what is there."""
    if not fields:
        raise BadScenario("update: say what changes, such as update(obj, spec={...})", caller())
    return patch(obj, fields)


def patch(obj: Mapping[str, Any], change: Mapping[str, Any]) -> Action:
    """A user applies a merge patch to an object."""
    kind, name, namespace = _address("patch", obj)
    if not isinstance(change, Mapping):
        raise BadScenario(f"patch: expected a merge patch, such as {{'spec': {{...}}}}, found {change!r}", caller())
    text = f"changes {_named(obj)}: {', '.join(change)}"

    def perform(cluster: Cluster) -> object:
        return cluster.patch(kind, name, change, namespace=namespace, manager="user")

    return Action(text, perform, kind, Key(namespace, name))


def delete(obj: Mapping[str, Any]) -> Action:
    """A user deletes an object."""
    kind, name, namespace = _address("delete", obj)
    text = f"deletes {_named(obj)}"
    return Action(text, lambda cluster: cluster.delete(kind, name, namespace=namespace), kind, Key(namespace, name))


def _address(action: str, obj: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = obj.get("metadata") if isinstance(obj, Mapping) else None
    if not isinstance(metadata, Mapping) or not all((metadata.get("name"), obj.get("apiVersion"), obj.get("kind"))):
        raise BadScenario(
            f"{action}: an action needs an object with a name: apiVersion, kind and metadata.name, found {obj!r}",
            caller(),
        )
    return str(kind_of(obj)), metadata["name"], metadata.get("namespace") or "default"


def _named(obj: Mapping[str, Any]) -> str:
    metadata = obj["metadata"]
    return f"{kind_of(obj).kind} {metadata.get('namespace') or 'default'}/{metadata['name']}"


def never_taken(action: Action, message: str) -> BadScenario:
    """The refusal of an action that the server refuses with ``message`` wherever it is tried."""
    hint = ""
    if message.endswith("not found"):
        hint = "; create the object first, or list it in objects="
    elif message.endswith("already exists"):
        hint = "; delete the object first, or change it with update(...)"
    return BadScenario(f"the action {action.text!r} can never be taken: {message}{hint}", action.place)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything the explorer needs to know."""

    #: Controllers, or the names of built-in ones, such as "deployment".
    controllers: Sequence[Controller | str]
    objects: Sequence[Mapping[str, Any]] = ()
    crds: Sequence[Mapping[str, Any]] = ()
    actions: Sequence[Action] = ()
    properties: Sequence[Property] = ()
    bounds: Bounds = field(default_factory=Bounds)
    guards: Guards = field(default_factory=lambda: Guards(fencing=False))
    name: str = ""
    reductions: Reductions = field(default_factory=Reductions)
    place: Place | None = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def cluster(self) -> Cluster:
        """The cluster at the start."""
        from kontend.explore.preflight import first_cluster  # it needs scenarios

        return first_cluster(self)

    def running(self, cluster: Cluster) -> list[Controller]:
        """The controllers, with those that are named found by their names."""
        from kontend.explore.preflight import found_controllers

        return found_controllers(self, cluster)

    def check(self) -> Cluster:
        """Refuse what could only go wrong later. Returns the cluster at the start."""
        from kontend.explore.preflight import checked

        return checked(self)

    def property_names(self) -> list[str]:
        """What can be violated: the scenario's own properties, then what is always checked."""
        return [*(each.name for each in self.properties), *BUILT_IN]

    def assert_discovery(self, name: str, moves: Sequence[str]) -> None:
        """Fail unless these moves, as a story tells them, are possible one after the other and violate a property.

        This pins a counterexample in a test: it fails when the bug is gone, and when the way to it has changed.
        """
        from kontend.explore.pinned import violated_along  # it needs all of the explorer, which needs scenarios

        if name not in self.property_names():
            raise BadScenario(not_among("property", name, self.property_names()), caller())
        violated = violated_along(self, moves)
        if name not in violated:
            found = f"they violate {', '.join(sorted(violated))}" if violated else "nothing is violated"
            raise AssertionError(f"the moves are possible, but {name} holds: {found}")


def not_among(what: str, name: str, known: Iterable[str]) -> str:
    """That there is no such thing, and what there is.

    >>> not_among("scenario", "blin", ["blind", "locked"])
    'no scenario is called blin (did you mean blind?); there are: blind, locked'
    """
    names = list(known)
    close = get_close_matches(name.lower(), names, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"no {what} is called {name}{hint}; there are: {', '.join(names)}"
