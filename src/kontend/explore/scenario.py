"""Scenarios: controllers, objects, users' actions, properties and bounds, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from kontend.cluster.startup.manifests import BadManifest, read, read_definitions
from kontend.explore.actions import USER, Action, Writer, sent
from kontend.explore.problems import BadScenario
from kontend.explore.program.foreign import ForeignController
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.property import Property
from kontend.runtime.controller import Controller
from kontend.runtime.guards import Guards
from kontend.runtime.source_location import SourceLocation, caller

#: The least value of each bound.
LEAST: Final = {
    "lag": 0,
    "concurrent": 1,
    "faults": 0,
    "crashes": 0,
    "rewind": 0,
    "failed": 0,
    "lost": 0,
    "handovers": 0,
    "perturbations": 0,
    "states": 1,
    "steps": 1,
    "seconds": 1,
    "memory": 1,
    "identities": 0,
}
_REWOUND: Final = "restarts onto older views"
#: Bounds that need not be set.
_OPTIONAL: Final = ("perturbations", "seconds", "memory")
#: The bounds that decide which steps there are.
STEP_BOUNDS: Final = (
    "lag",
    "concurrent",
    "atomic",
    "faults",
    "crashes",
    "rewind",
    "failed",
    "lost",
    "handovers",
    "instances",
    "identities",
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of an exploration. Everything within those up to ``lost`` is tried; the others say where it stops.

    >>> str(Bounds(lag=2, concurrent=2, faults=0))
    'lag ≤ 2, 2 instances'
    >>> str(Bounds(rewind=0, lost=0))
    'lag ≤ 1, 1 instance, faults ≤ 1 (crashes, failed calls)'
    """

    #: The number of events that a view of an instance may be behind, for each kind.
    lag: int = 1
    #: The number of instances of each controller that run at once, each with its own queue. Those of one process
    #: share its views, and there are as many of each.
    concurrent: int = 1
    #: The same for single controllers, by their names.
    instances: Mapping[str, int] = field(default_factory=dict, hash=False)
    #: True if a reconcile is one step, with nothing between its calls: far fewer states, and far fewer bugs.
    atomic: bool = False
    #: The most faults in all, and of each kind: crashes of an instance, calls that the server refuses for
    #: no fault of the caller, responses that are lost after the server has carried out the call.
    faults: int = 1
    crashes: int = 1
    failed: int = 1
    lost: int = 1
    #: The number of times that an instance may be replaced while a write of it is still on its way.
    handovers: int = 0
    #: The number of changes that the lists may miss with which an instance starts after a crash.
    rewind: int = 1
    #: The most perturbations of all kinds in a run; None for any number.
    perturbations: int | None = None
    #: The choice of uids, uuids and generated names, 0 to 3: those of 1 sort in the opposite order of those of 0, and
    #: further ones in an order of their own.
    identities: int = 0
    #: The limits at which the search stops, and says so: numbers of states and steps, seconds. Data beyond
    #: ``memory`` MiB goes to disk.
    states: int = 1_000_000
    steps: int = 50_000_000
    seconds: int | None = None
    memory: int | None = None
    #: The line on which it was made, for messages; bounds that were made elsewhere can be equal.
    line: SourceLocation | None = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is None and name in _OPTIONAL:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise BadScenario(f"Bounds({name}={value!r}): expected a whole number, at least {least}", self.line)
        if not isinstance(self.instances, Mapping):
            expected = 'expected numbers by the names of controllers, such as {"widgets": 2}'
            raise BadScenario(f"Bounds(instances={self.instances!r}): {expected}", self.line)
        for name, count in self.instances.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise BadScenario(
                    f"Bounds(instances={{{name!r}: {count!r}}}): expected a whole number, at least 1", self.line
                )
        if not isinstance(self.atomic, bool):
            raise BadScenario(f"Bounds(atomic={self.atomic!r}): expected True or False", self.line)

    def __str__(self) -> str:
        instances = "1 instance" if self.concurrent == 1 else f"{self.concurrent} instances"
        instances += "".join(f", {count} of {name}" for name, count in sorted(self.instances.items()))
        older = f"restarts onto views up to {self.rewind} changes old" if self.rewind > 1 else _REWOUND
        tried = ", ".join(older if name == _REWOUND else name for name in self.tried)
        faults = f", faults ≤ {self.faults} ({tried})" if tried else ""
        most = "" if self.perturbations is None else f", perturbations ≤ {self.perturbations}"
        choice = f", identities {self.identities}" * bool(self.identities)
        return f"lag ≤ {self.lag}, {instances}{', atomic reconciles' * self.atomic}{faults}{most}{choice}"

    def of_steps(self) -> dict[str, Any]:
        """Those that decide which steps there are, by name; older traces have no choice of identities."""
        values = {name: getattr(self, name) for name in STEP_BOUNDS}
        return values if self.identities else {name: values[name] for name in STEP_BOUNDS[:-1]}

    @property
    def tried(self) -> list[str]:
        """The kinds of faults that are tried."""
        return [name for name, tried in self._faults().items() if tried]

    @property
    def not_tried(self) -> tuple[str, ...]:
        """The kinds of faults that are not tried."""
        return tuple(name for name, tried in self._faults().items() if not tried)

    def _faults(self) -> dict[str, bool]:
        # An atomic reconcile has no moment between two calls at which something could fail.
        calls = self.faults > 0 and not self.atomic
        return {
            "crashes": bool(self.faults and self.crashes),
            _REWOUND: bool(self.faults and self.crashes and self.rewind),
            "failed calls": bool(calls and self.failed),
            "lost responses": bool(calls and self.lost),
            "hand-overs": bool(calls and self.handovers),
        }


@dataclass(frozen=True, slots=True)
class Reductions:
    """Shortcuts that leave out what cannot end differently. Each can be switched off, to compare.

    >>> Reductions(symmetry=False).symmetry
    False
    """

    #: Instances of one controller are interchangeable.
    symmetry: bool = True
    #: A call on the same objects has the same outcome, and the server is not called again.
    outcomes: bool = True
    #: A uuid is chosen when it is first handed on, not when it is generated.
    uuids: bool = True
    #: Events are delivered, and delays end, just before it makes a difference: when a reconcile starts or reads.
    deliveries: bool = True
    #: Starts and cached reads are one macro-step with the next request to the server (needs ``deliveries``).
    reads: bool = True
    #: The local steps of an instance are computed once for the same situation.
    local: bool = True
    #: Calls fail with 429 and 503 only where code does something else about them than about a 500.
    codes: bool = True
    #: Objects that have nothing to do with each other are explored one after the other.
    parts: bool = True
    #: Of those that differ in their names only, one is explored (needs ``parts``).
    alike: bool = True
    #: Where a search gets long, what each instance may have done is followed apart, to show that nothing is violated.
    factored: bool = True
    #: In sets of states a request is wanted or not, whatever it is that wants it (needs ``factored``).
    wanted: bool = True
    #: In sets of states the controllers of one process are followed apart (needs ``factored``).
    separated: bool = True
    #: Sets of states that differ only in generations are one, if all code does the same with other ones (needs
    #: ``factored``).
    generations: bool = True

    @classmethod
    def none(cls) -> Reductions:
        """No shortcuts at all: brute force.

        >>> Reductions.none().deliveries
        False
        """
        return cls(**{reduction.name: False for reduction in fields(cls)})


#: Read the values of a field from a file or a directory.
_READERS: Final[Mapping[str, Callable[[Path], list[Any]]]] = {
    "crds": lambda path: [manifest.obj for manifest in read_definitions([path])],
    "objects": lambda path: [manifest.obj for manifest in read([path])],
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that the explorer needs to know.

    >>> Scenario(controllers=["deployment"], bounds=Bounds(lag=0)).property_names()[:2]
    ['exception', 'lost update']
    """

    #: Controllers, or the names of built-in ones, such as "deployment".
    controllers: Sequence[Controller | str]
    #: Objects, or paths of YAML files and directories with some, relative to the file that makes the scenario.
    objects: Sequence[Any] = ()
    #: Definitions, or paths, as for objects.
    crds: Sequence[Any] = ()
    #: The actions of the user, in their order.
    actions: Sequence[Action] = ()
    properties: Sequence[Property] = ()
    bounds: Bounds = field(default_factory=Bounds)
    guards: Guards = field(default_factory=lambda: Guards(fencing=False))
    name: str = ""
    reductions: Reductions = field(default_factory=Reductions)
    #: Further users, who act independently.
    writers: Sequence[Writer] = ()
    #: Processes by their names, each with the names of its controllers; the others run where they are deployed.
    processes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Fields that controllers are meant to hold against users, as ``Kind.path``: taking them back is no fight.
    enforced: Sequence[str] = ()
    #: Fields in which final states may differ, such as ``ConfigMap.data.next``.
    ignore: Sequence[str] = ()
    line: SourceLocation | None = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        base = Path(self.line.file).parent if self.line is not None else Path()
        for name, reader in _READERS.items():
            given = getattr(self, name)
            if not isinstance(given, (list, tuple)) or not any(isinstance(item, (str, Path)) for item in given):
                continue
            values: list[Any] = []
            for item in given:
                try:
                    values += reader(base / item) if isinstance(item, (str, Path)) else [item]
                except BadManifest as error:
                    raise BadScenario(f"Scenario({name}=...): {error}", self.line) from error
            object.__setattr__(self, name, values)

    def within_guards(self) -> Scenario:
        """The scenario without what its guards rule out.

        With monotonic views the first list of a process is a consistent read, so no restart shows an older view. The
        bounds of the scenario itself stay: it may get other guards.

        >>> Scenario(["deployment"]).within_guards().bounds.rewind
        0
        """
        if not self.guards.monotonic_views or not self.bounds.rewind:
            return self
        return replace(self, bounds=replace(self.bounds, rewind=0))

    def everybody(self) -> list[Writer]:
        """All users, each with actions that are taken in their order."""
        users = [Writer(USER, self.actions)] if self.actions else []
        for user in self.writers:
            users += [user] if user.ordered else [Writer(user.name, [action]) for action in user.actions]
        return users + [Writer(name, [sent(name)]) for name in self._events()]

    def _events(self) -> list[str]:
        """The events from outside of the cluster that the code of controllers declares."""
        controllers = (one for one in self.controllers if isinstance(one, ForeignController))
        return list(dict.fromkeys(name for controller in controllers for name in controller.events))

    def property_names(self) -> list[str]:
        """The names under which violations are reported: the scenario's own properties, then the built-in ones."""
        return [*(prop.name for prop in self.properties), *(built_in.value for built_in in BuiltIn)]
