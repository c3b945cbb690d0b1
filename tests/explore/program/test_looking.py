"""Runs that are only looked at: no verdict rests on them, and the search checks those that it makes as well."""

from __future__ import annotations

import itertools

import pytest

from definitions import definition
from kontend import Api, Controller, Request
from kontend.explore import Bounds, Scenario
from kontend.explore.model.model import Model
from kontend.explore.program.determinism import Nondeterminism
from kontend.explore.program.driven import Start
from kontend.explore.program.tree import Program
from kontend.kube.meta.names import Key

WIDGET = "Widget.example.com/v1"
#: A count that no run may keep.
_kept = itertools.count()


class Reads(Controller):
    """Reads a widget."""

    kind = WIDGET

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read it."""
        await api.get(self.kind, request)


class Counts(Controller):
    """Reads another widget from the third run on."""

    kind = WIDGET

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read it."""
        await api.get(self.kind, Request(request.namespace, f"w{next(_kept) >= 2}"))


def _program(controller: Controller) -> tuple[Program, Start]:
    model = Model(Scenario([controller], crds=[definition("Widget")], bounds=Bounds(lag=0, faults=0)))
    (program,) = model.programs
    return program, Start(Key("default", "w"), program.initial_memory, "2026-01-01T00:00:00Z")


def test_runs_that_are_only_looked_at_are_not_recorded() -> None:
    program, start = _program(Reads())
    with program.looking():
        node = program.root(start)
    assert [str(call) for call in node.calls] == ["cached get Widget.example.com/v1 default/w"]
    assert not program.ids
    assert not list(program.longest_runs())


def test_the_search_takes_up_a_run_that_was_looked_at() -> None:
    program, start = _program(Reads())
    with program.looking():
        node = program.root(start)
    assert program.root(start) is node
    assert list(program.ids) == [node.id]
    assert [run.start for _, run in program.longest_runs()] == [start]


def test_a_run_is_checked_when_the_search_takes_it_up() -> None:
    program, start = _program(Counts())
    with program.looking():
        program.root(start)
    with pytest.raises(Nondeterminism):
        program.root(start)
