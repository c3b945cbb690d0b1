"""Controllers whose module has no file, as in an interactive interpreter, are explored like all others."""

from __future__ import annotations

import sys
import textwrap
from types import ModuleType

import pytest

from explore.program.writers import explored, nondeterminism
from kontend.runtime.controller import Controller

TYPED = """
    from kontend import Controller

    CALLS = []

    class Typed(Controller):
        kind = "Widget.example.com/v1"

        async def reconcile(self, request, api):
            await api.get(self.kind, request)
            {statement}
"""


def _typed(monkeypatch: pytest.MonkeyPatch, statement: str) -> Controller:
    module = ModuleType("typed")
    exec(textwrap.dedent(TYPED).format(statement=statement), module.__dict__)  # noqa: S102 - as an interpreter does
    monkeypatch.setitem(sys.modules, "typed", module)
    controller: Controller = module.Typed()
    return controller


def test_a_controller_without_a_file_is_explored(monkeypatch: pytest.MonkeyPatch) -> None:
    assert explored(_typed(monkeypatch, "pass")).ok


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("CALLS.append(1)", "typed: the reconcile changes the global variable CALLS"),
        ("self.calls = getattr(self, 'calls', 0) + 1", "typed: the reconcile changes self.calls"),
        ("type(self).calls = getattr(self, 'calls', 0) + 1", "typed: the reconcile changes Typed.calls"),
    ],
)
def test_undeclared_state_of_a_controller_without_a_file_is_named(
    monkeypatch: pytest.MonkeyPatch, statement: str, sentence: str
) -> None:
    assert sentence in nondeterminism(_typed(monkeypatch, statement))
