"""The units of a campaign, as plain data: one search, one set of walks, one plan, or one live command each.

A unit can be sent to another process or machine. Its key covers everything that decides its outcome, the user's code
among it, so that an outcome that is known by its key need not be computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal

import orjson
import xxhash

from kontend.explore.search.snapshot import Snapshot
from kontend.runtime.user_sources import UserCode

NO_SOURCES: Final = UserCode()
Status = Literal["holds", "violated", "undecided", "refused", "crashed"]
#: Outcomes that say something about the controllers. The others are errors, and their units run again.
DECIDED: Final = ("holds", "violated", "undecided")


@dataclass(frozen=True, slots=True)
class Exploration:
    """One search of one scenario."""

    title: str
    file: str
    scenario: str
    #: Definitions, objects and actions beside those of the scenario, as JSON.
    inputs: Mapping[str, Any] = field(default_factory=dict)
    #: The bounds that differ from those of the scenario.
    bounds: Mapping[str, Any] = field(default_factory=dict)
    search: str = "breadth"
    seed: int = 0
    walks: int = 1_000
    #: The states that are searched with two faults in a run, where everything holds with one.
    deepen: int = 0
    #: A plan as a document; None to explore everything within the bounds.
    plan: Any = None
    #: A digest of the user's code and of the scenario.
    code: str = ""
    #: Make some of its runs again in other processes.
    recheck: bool = False
    #: A directory from which an exhaustive search goes on after the end of its process; empty for none.
    checkpoint: str = ""
    #: The user's code, for a machine that may not have the files.
    sources: UserCode = NO_SOURCES

    @property
    def key(self) -> str:
        """Names the outcome."""
        described = replace(self, title="", recheck=False, checkpoint="", sources=NO_SOURCES)
        return _digest(asdict(described))

    @property
    def suite(self) -> str:
        """The file, which groups units in reports."""
        return self.file

    @property
    def description(self) -> dict[str, Any]:
        """The unit as JSON."""
        how: dict[str, Any] = {"search": self.search}
        if self.search in ("random", "pct"):
            how |= {"seed": self.seed, "walks": self.walks}
        if self.plan is not None:
            how = {"plan": self.plan}
        return {"file": self.file, "scenario": self.scenario, "bounds": dict(self.bounds), **how}


@dataclass(frozen=True, slots=True)
class LiveCommand:
    """One ``kontend live``."""

    title: str
    command: tuple[str, ...]
    #: The options before the command.
    options: tuple[str, ...] = ()
    #: A digest of the files that the command line names.
    code: str = ""
    #: The directory for traces.
    failures: str = ""

    @property
    def key(self) -> str:
        """Names the outcome."""
        return _digest({**asdict(self), "title": "", "failures": ""})

    @property
    def suite(self) -> str:
        """The program, which groups units in reports."""
        return self.command[0]

    @property
    def description(self) -> dict[str, Any]:
        """The unit as JSON."""
        return {"live": list(self.command), "options": list(self.options)}


@dataclass(frozen=True, slots=True)
class Unusable:
    """A file or a directory that could not be read: it counts as a unit that was refused."""

    title: str
    status: Status
    summary: str

    @property
    def key(self) -> str:
        """Names the outcome."""
        return _digest(asdict(self))

    @property
    def suite(self) -> str:
        """The file, which groups units in reports."""
        return self.title

    @property
    def description(self) -> dict[str, Any]:
        """The unit as JSON."""
        return {"file": self.title}


Unit = Exploration | LiveCommand | Unusable


@dataclass(frozen=True, slots=True)
class FoundViolation:
    """A violation in a report."""

    property: str
    sentence: str
    #: Reproduces it in a test; empty where there is none.
    token: str = ""
    #: The file that replays it; empty where it was not saved.
    replay: str = ""


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """The outcome of a unit. Durations are left out: equal units have equal outcomes."""

    status: Status
    #: One line.
    summary: str
    states: int = 0
    steps: int = 0
    violations: tuple[FoundViolation, ...] = ()
    #: The explanation of the violations, or the output of a process that failed.
    details: str = ""
    #: Traces that are to be saved, encoded, in the order of the violations; empty once they are.
    documents: tuple[bytes, ...] = ()
    #: Everything holds in all runs with up to this number of perturbations; -1 where that is known of none.
    certain: int = -1

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON, without documents."""
        plain = asdict(self)
        del plain["documents"]
        return plain

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> UnitOutcome:
        """Return an outcome from JSON. Raises ``TypeError`` or ``KeyError`` for anything else."""
        violations = tuple(FoundViolation(**violation) for violation in document["violations"])
        return cls(**{**document, "violations": violations})


@dataclass(frozen=True, slots=True)
class Listing:
    """A task: list the scenarios of a file, a directory or a module."""

    target: str
    #: Paths of definitions, objects and actions.
    crds: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    #: Files that end the process which imports them.
    leave_out: tuple[str, ...] = ()
    #: The sources of the user's code are wanted, too.
    with_sources: bool = False


@dataclass(frozen=True, slots=True)
class ListedScenario:
    """A scenario of a file."""

    file: str
    name: str
    code: str
    #: Its own plan as a document; None for none.
    plan: Any = None


@dataclass(frozen=True, slots=True)
class Listed:
    """The result of a listing."""

    scenarios: tuple[ListedScenario, ...]
    inputs: Mapping[str, Any]
    #: Files that cannot be read, with the reason.
    broken: tuple[tuple[str, str], ...] = ()
    sources: UserCode = NO_SOURCES


Task = Listing | Exploration | LiveCommand
#: A snapshot of a search, or the file that is being imported.
Report = Snapshot | str


def _digest(plain: Mapping[str, Any]) -> str:
    packed = orjson.dumps(plain, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=repr)
    return xxhash.xxh3_128_hexdigest(packed)
