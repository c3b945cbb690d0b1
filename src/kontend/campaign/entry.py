"""Entries of a campaign: targets and everything that is to be tried with them, from the command line or from a file.

A campaign file is YAML with a list ``campaign``. An entry explores something, or runs a live command:

    campaign:
      - explore: operators/          # a file, a directory or a module, or a list of them
        scenario: [rollout]          # default: all
        bounds: [{lag: 1}, {lag: 2, crashes: 2, seconds: 60}]
        search: [breadth, random]
        seeds: 10                    # walks with the seeds 0 to 9; or a list of seeds
        plans: [stale.yaml]          # only what the plans say
      - live: [./manager, --leader-elect=false]
        options: {crds: config/crd, objects: sample.yaml, seconds: 60}

Paths are relative to the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import yaml

from kontend.explore.exploring import STRATEGIES
from kontend.explore.planned.plan import plan_of
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.scenario import LEAST, Bounds
from kontend.explore.scenario_documents import ENDINGS
from kontend.explore.sources.yaml_file import read_yaml

_WALKS: Final = ("random", "pct")
_BOUNDS: Final = (*LEAST, "atomic", "instances")
_FIELDS: Final = (
    "explore",
    "scenario",
    "crds",
    "objects",
    "actions",
    "bounds",
    "search",
    "seeds",
    "walks",
    "plans",
    "deepen",
)
_LIVE_FIELDS: Final = ("live", "options")
#: Options of ``kontend live`` that name files: these are relative to the campaign file.
_LIVE_PATHS: Final = ("crds", "objects", "actions", "properties", "plan", "directory")
_SET_BY_US: Final = ("failures", "list-plans", "jobs", "output-format")


@dataclass(frozen=True, slots=True)
class Matrix:
    """Options to try with each scenario: every combination is a unit."""

    bounds: tuple[Mapping[str, Any], ...] = ({},)
    searches: tuple[str, ...] = ("breadth",)
    #: For walks.
    seeds: tuple[int, ...] = (0,)
    walks: int = 1_000
    deepen: int = 1_000
    #: Plans by their names: only these are carried out.
    plans: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExploreEntry:
    """Scenarios to explore."""

    targets: tuple[str, ...]
    matrix: Matrix = Matrix()
    scenarios: tuple[str, ...] = ()
    crds: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveEntry:
    """A live command."""

    command: tuple[str, ...]
    options: tuple[str, ...] = ()


Entry = ExploreEntry | LiveEntry


def is_campaign_file(path: Path) -> bool:
    """Return whether a file holds a list of entries."""
    if path.suffix not in ENDINGS or not path.is_file():
        return False
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError):
        return False
    return isinstance(document, Mapping) and "campaign" in document


def read_entries(path: Path) -> list[Entry]:
    """Return the entries of a campaign file. Raises :class:`BadScenario`."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    listed = document["campaign"]
    if set(document) != {"campaign"} or not isinstance(listed, list) or not listed:
        raise BadScenario(f"{path}: expected campaign: with a list of entries, such as - explore: FILE")
    return [_entry(item, f"{path}: campaign[{at}]", path.parent) for at, item in enumerate(listed)]


def _entry(document: Any, where: str, base: Path) -> Entry:
    if not isinstance(document, Mapping) or ("explore" in document) == ("live" in document):
        raise BadScenario(f"{where}: expected either explore: or live:, found {document!r}")
    known = _FIELDS if "explore" in document else _LIVE_FIELDS
    for name in document:
        if name not in known:
            raise BadScenario(f"{where}: {not_among('field', str(name), known)}")
    if "live" in document:
        return _live(document, where, base)

    def paths(name: str) -> tuple[str, ...]:
        return tuple(_beside(base, text) for text in _texts(document.get(name, []), f"{where}: {name}"))

    bounds = document.get("bounds", {})
    searches = _texts(document.get("search", []), f"{where}: search")
    matrix = Matrix(
        bounds=checked_bounds(bounds if isinstance(bounds, list) else [bounds], f"{where}: bounds"),
        searches=checked_searches(searches or ("breadth",), where),
        seeds=_seeds(document.get("seeds", 1), f"{where}: seeds"),
        walks=_number(document.get("walks", 1_000), f"{where}: walks", 1),
        deepen=_number(document.get("deepen", 1_000), f"{where}: deepen", 0),
        plans=read_plans([Path(text) for text in paths("plans")]),
    )
    scenarios = _texts(document.get("scenario", []), f"{where}: scenario")
    targets = paths("explore")
    if not targets:
        raise BadScenario(f"{where}: explore: expected a file, a directory or a module")
    return ExploreEntry(targets, matrix, scenarios, paths("crds"), paths("objects"), paths("actions"))


def _live(document: Mapping[str, Any], where: str, base: Path) -> LiveEntry:
    command = _texts(document["live"], f"{where}: live")
    if not command or isinstance(document["live"], str):
        raise BadScenario(
            f"{where}: live: expected the command and its arguments as a list, found {document['live']!r}"
        )
    given = document.get("options", {})
    if not isinstance(given, Mapping):
        raise BadScenario(f"{where}: options: expected options of kontend live and values, found {given!r}")
    options = []
    for name, value in given.items():
        if name in _SET_BY_US:
            raise BadScenario(f"{where}: options: {name} is set by the campaign; remove it")
        for item in value if isinstance(value, list) else [value]:
            if item is True:
                options.append(f"--{name}")
            elif item is not False:
                options.append(f"--{name}={_beside(base, str(item)) if name in _LIVE_PATHS else item}")
    program = _beside(base, command[0]) if os.sep in command[0] else command[0]
    return LiveEntry((program, *command[1:]), tuple(options))


def _beside(base: Path, text: str) -> str:
    """Return a path relative to the campaign file; the name of a module stays as it is."""
    path = base / text
    return str(path) if path.exists() or os.sep in text or text.endswith((".py", *ENDINGS)) else text


def checked_bounds(listed: Sequence[Any], where: str) -> tuple[Mapping[str, Any], ...]:
    """Bounds that differ from those of a scenario. Raises :class:`BadScenario`.

    >>> checked_bounds([{"lag": 2}, {}], "--bounds")
    ({'lag': 2}, {})
    """
    for item in listed:
        if not isinstance(item, Mapping):
            raise BadScenario(f"{where}: expected names and values such as lag: 2, found {item!r}")
        for name in item:
            if name not in _BOUNDS:
                raise BadScenario(f"{where}: {not_among('bound', str(name), _BOUNDS)}")
        try:
            replace(Bounds(line=None), **item)
        except BadScenario as error:
            raise BadScenario(f"{where}: {error.message}") from None
    return tuple(dict(item) for item in listed) or ({},)


def checked_searches(names: Sequence[str], where: str) -> tuple[str, ...]:
    """Names of strategies. Raises :class:`BadScenario`."""
    for name in names:
        if name not in STRATEGIES:
            raise BadScenario(f"{where}: search: {not_among('strategy', name, STRATEGIES)}")
    return tuple(dict.fromkeys(names))


def read_plans(paths: Sequence[Path]) -> dict[str, Any]:
    """Plans as documents, by their file. Raises :class:`BadScenario`."""
    plans: dict[str, Any] = {}
    for path in paths:
        document = read_yaml(path) or {}
        plan_of(document, str(path))
        plans[str(path)] = document
    return plans


def walks_of(search: str) -> bool:
    """Return whether a strategy makes walks, which depend on a seed."""
    return search in _WALKS


def _texts(value: Any, where: str) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    for item in listed:
        if not isinstance(item, (str, int, float)) or isinstance(item, bool):
            raise BadScenario(f"{where}: expected a text or a list of texts, found {value!r}")
    return tuple(str(item) for item in listed)


def _seeds(value: Any, where: str) -> tuple[int, ...]:
    if isinstance(value, list) and value:
        return tuple(_number(item, where, 0) for item in value)
    return tuple(range(_number(value, where, 1)))


def _number(value: Any, where: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadScenario(f"{where}: expected a whole number, at least {least}, found {value!r}")
    return value
