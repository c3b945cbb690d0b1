"""Scenarios whose answers are known: the number of ways in which two controllers can settle."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from kontend import Api, Bounds, Cluster, Controller, Request, Scenario, Verdict, check

FOO = "Foo.webapp.example.com/v1"
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "foos.webapp.example.com"},
    "spec": {
        "group": "webapp.example.com",
        "scope": "Namespaced",
        "names": {"plural": "foos", "kind": "Foo"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
OBJECT: dict[str, Any] = {
    "apiVersion": "webapp.example.com/v1",
    "kind": "Foo",
    "metadata": {"name": "foo"},
    "spec": {"mode": "A"},
}


def _state(obj: dict[str, Any]) -> str:
    return str((obj.get("status") or {}).get("state", ""))


class Steps(Controller):
    """Moves the state on, by a table for each mode."""

    kind = FOO
    table: ClassVar[dict[str, dict[str, str]]] = {"A": {"": "A-1", "A-1": "A-Final"}}

    async def reconcile(self, request: Request, api: Api) -> None:
        """One step."""
        obj = await api.get(self.kind, request)
        following = self.table[obj["spec"]["mode"]].get(_state(obj))
        if following:
            obj["status"] = {"state": following}
            await api.status.update(obj)


class Foo(Steps):
    """The first of two that do the same."""


class Bar(Steps):
    """The second."""


class ModeFoo(Steps):
    """Three steps, in one of two modes."""

    name = "foo"
    table: ClassVar = {
        "A": {"": "A-1", "B-1": "A-1", "A-1": "A-2", "A-2": "A-Final"},
        "B": {"": "B-1", "A-1": "B-1", "B-1": "B-2", "B-2": "B-Final"},
    }


class ModeBar(Controller):
    """Flips the mode once, if it comes early enough, and else helps to finish."""

    kind = FOO
    name = "bar"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Flip or finish."""
        obj = await api.get(self.kind, request)
        state = _state(obj)
        annotations = obj["metadata"].setdefault("annotations", {})
        if "mode-flip-done" not in annotations and state in ("A-1", "B-1"):
            obj["spec"]["mode"] = "B" if state == "A-1" else "A"
            annotations["mode-flip-done"] = "1"
            await api.update(obj)
            return
        if state == "A-2" or (obj["spec"]["mode"] == "B" and state == "B-2"):
            obj["status"] = {"state": f"{state[0]}-Final"}
            await api.status.update(obj)


def _ends(verdict: Verdict) -> set[str]:
    return {_state(Cluster(state=state).get(FOO, "foo")) for state in verdict.end_states}


@pytest.mark.parametrize("lag", [0, 1])
def test_two_controllers_that_do_the_same_settle_in_one_way(lag: int) -> None:
    verdict = check(Scenario([Foo(), Bar()], crds=[CRD], objects=[OBJECT], bounds=Bounds(lag=lag)))
    assert verdict.ok
    assert _ends(verdict) == {"A-Final"}


@pytest.mark.parametrize("lag", [0, 1])
def test_a_race_for_the_mode_can_settle_in_two_ways(lag: int) -> None:
    verdict = check(Scenario([ModeFoo(), ModeBar()], crds=[CRD], objects=[OBJECT], bounds=Bounds(lag=lag)))
    assert verdict.closed
    assert _ends(verdict) == {"A-Final", "B-Final"}
    assert len(verdict.end_states) == 2
