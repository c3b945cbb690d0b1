"""Processes of a scenario: the controllers that share a cache and crash together, and how many copies run of each.

Each controller says in ``runs_in`` where it is deployed: those of an operator in one process, those of
kube-controller-manager in another one. ``Scenario(processes=...)`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kontend.explore.problems import BadScenario, not_among
from kontend.explore.scenario import Scenario
from kontend.runtime.controller import Controller


@dataclass(frozen=True, slots=True)
class Deployed:
    """A process as it is deployed: its controllers, by their numbers in the scenario, and how many copies run."""

    name: str
    controllers: tuple[int, ...]
    copies: int

    def title(self, controllers: Sequence[Controller]) -> str:
        """Its name in texts, given its controllers: a process with a single one has the name of that."""
        return controllers[0].name if len(controllers) == 1 else self.name


def copies_of(name: str, count: int) -> list[str]:
    """The names of ``count`` copies of something.

    >>> copies_of("widgets", 1), copies_of("widgets", 2)
    (['widgets'], ['widgets#1', 'widgets#2'])
    """
    return [f"{name}#{number}" for number in range(1, count + 1)] if count > 1 else [name]


def deployed(scenario: Scenario, controllers: Sequence[Controller]) -> list[Deployed]:
    """The processes of a scenario, in the order of their first controllers. Raises :class:`BadScenario`."""
    _check_form(scenario)
    names = [controller.name for controller in controllers]
    chosen: dict[str, str] = {}
    for process, members in scenario.processes.items():
        for name in members:
            if name not in names:
                message = f"Scenario(processes={{{process!r}: ...}}): {not_among('controller', name, sorted(names))}"
                raise BadScenario(message, scenario.line)
            if name in chosen:
                both = f"{chosen[name]!r} and {process!r}"
                message = f"Scenario(processes=...): the controller {name} is in {both}; it runs in one process"
                raise BadScenario(message, scenario.line)
            chosen[name] = process
    members_of: dict[str, list[int]] = {}
    for number, controller in enumerate(controllers):
        members_of.setdefault(chosen.get(controller.name, controller.runs_in), []).append(number)
    _check_instances(scenario, [*names, *members_of])
    return [
        Deployed(process, tuple(members), _copies(scenario, process, [names[member] for member in members]))
        for process, members in members_of.items()
    ]


def _check_form(scenario: Scenario) -> None:
    expected = "expected lists of controllers by the names of processes, such as {'web': ['widgets', 'gadgets']}"
    if not isinstance(scenario.processes, Mapping):
        raise BadScenario(f"Scenario(processes={scenario.processes!r}): {expected}", scenario.line)
    for process, members in scenario.processes.items():
        if not isinstance(process, str) or isinstance(members, str) or not isinstance(members, Sequence):
            raise BadScenario(f"Scenario(processes={{{process!r}: {members!r}}}): {expected}", scenario.line)


def _check_instances(scenario: Scenario, names: Sequence[str]) -> None:
    for name in scenario.bounds.instances:
        if name not in names:
            message = f"Bounds(instances=...): {not_among('controller', name, sorted(set(names)))}"
            raise BadScenario(message, scenario.bounds.line)


def _copies(scenario: Scenario, process: str, members: Sequence[str]) -> int:
    """The number of copies of a process. A bound for one of its controllers is one for all of it."""
    bounds = scenario.bounds
    given = {name: bounds.instances[name] for name in dict.fromkeys((process, *members)) if name in bounds.instances}
    if len(set(given.values())) > 1:
        numbers = " and ".join(f"{count} of {name}" for name, count in given.items())
        message = f"Bounds(instances=...): {numbers}, but they run in one process, {process}; separate them: "
        raise BadScenario(message + "Scenario(processes={...})", bounds.line)
    return next(iter(given.values()), bounds.concurrent)
