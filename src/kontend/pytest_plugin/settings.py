"""The limits of an exploration in a test: profile, mark and command line, each overriding the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import pytest

from kontend.explore.exploring import SearchOptions
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.scenario import Bounds, Scenario

_BOUNDS: Final = tuple(field.name for field in fields(Bounds) if field.name != "line")
_SEARCH: Final = tuple(field.name for field in fields(SearchOptions) if field.name != "progress")
#: Seconds that the profiles allow for each exploration.
_DEV_SECONDS: Final = 30
_CI_SECONDS: Final = 600
_MORE_STATES: Final = 10


@dataclass(frozen=True, slots=True)
class Settings:
    """Changes of the bounds and the search options of every check in a test."""

    profile: str = ""
    given: Mapping[str, Any] | None = None

    def apply(self, scenario: Scenario, options: SearchOptions) -> tuple[Scenario, SearchOptions]:
        """Return a scenario and its search options with these settings."""
        given = self.given or {}
        changes = {**_profile(self.profile, scenario.bounds), **given}
        bounds = {name: value for name, value in changes.items() if name in _BOUNDS}
        search = {name: value for name, value in changes.items() if name in _SEARCH}
        if bounds:  # the scenario itself otherwise: explanations find its name by identity
            scenario = replace(scenario, bounds=replace(scenario.bounds, **bounds))
        return scenario, replace(options, **search) if search else options


def settings_of(item: pytest.Item) -> Settings:
    """Return the settings of a test. Raises ``pytest.UsageError``."""
    mark = item.get_closest_marker("explore")
    given = dict(mark.kwargs) if mark is not None else {}
    given.pop("pinned", None)
    names = (*_BOUNDS, *_SEARCH)
    for name in given:
        if name not in names:
            raise pytest.UsageError(f"pytest.mark.explore: {not_among('option', name, (*names, 'pinned'))}")
    for name in names:
        value = item.config.getoption(f"kontend_{name}", None)
        if value is not None:
            given[name] = value
    try:  # a wrong value is the user's mistake, whichever scenario it is for
        Bounds(**{name: value for name, value in given.items() if name in _BOUNDS})
        SearchOptions(**{name: value for name, value in given.items() if name in _SEARCH})
    except BadScenario as error:
        raise pytest.UsageError(f"kontend: {error.message}") from error
    return Settings(item.config.getoption("kontend_profile") or "", given)


def _profile(name: str, bounds: Bounds) -> dict[str, Any]:
    if name == "dev":
        return {"until_first": True, "seconds": min(bounds.seconds or _DEV_SECONDS, _DEV_SECONDS)}
    if name == "ci":
        return {"until_first": False, "seconds": min(bounds.seconds or _CI_SECONDS, _CI_SECONDS)}
    if name == "thorough":
        return {
            "until_first": False,
            "seconds": None,
            "lag": bounds.lag + 1,
            "concurrent": max(bounds.concurrent, 2),
            "faults": bounds.faults + 1,
            "states": bounds.states * _MORE_STATES,
        }
    return {}
