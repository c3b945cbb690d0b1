"""Uuids: few, always the same, and never mistaken for each other."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import pytest
from rpds import HashTrieMap

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore.behaviour import UUID_PREFIX, Node
from kontend.explore.check import check
from kontend.explore.determinism import Nondeterminism
from kontend.explore.scenario import Bounds, Scenario, always, never
from kontend.explore.uuids import Uuids
from kontend.explore.world import Flight, Pilot, World
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request

FIRST, SECOND = (f"{UUID_PREFIX}{number:012x}" for number in (1, 2))


def _scenario(controller: Controller, **given: Any) -> Scenario:
    bounds = given.pop("bounds", Bounds(lag=0))
    return Scenario(controllers=[controller], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=UNGUARDED, **given)


def _status(cluster: Cluster) -> dict[str, Any]:
    return cluster.get(KIND, "w").get("status") or {}


class Remembers(Controller):
    """Draws a uuid, writes it, and compares what comes back with what it drew."""

    kind = KIND
    how: ClassVar[str] = "answer"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write once."""
        widget = await api.get(KIND, request)
        if widget.get("status"):
            return
        drawn = api.uuid()
        base = copy.deepcopy(widget)
        widget["status"] = {"id": drawn}
        await api.status.patch(widget, merge_from(base))
        if self.how != "answer":
            widget = await (api.get(KIND, request) if self.how == "cache" else api.live.get(KIND, request))
        base = copy.deepcopy(widget)
        widget["status"] = {**(widget.get("status") or {}), "same": (widget.get("status") or {}).get("id") == drawn}
        await api.status.patch(widget, merge_from(base))


@pytest.mark.parametrize("how", ["answer", "cache", "server"])
def test_a_reconcile_recognises_the_uuid_that_it_drew(how: str) -> None:
    controller = type("Remembers", (Remembers,), {"how": how})()
    verdict = check(
        _scenario(controller, properties=[never(lambda cluster: _status(cluster).get("same") is False, name="strange")])
    )
    assert verdict.ok
    assert [_status(Cluster(state=state))["same"] for state in verdict.end_states] == [True]


class Names(Controller):
    """Makes a child with a uuid in its name, if there is none."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """One child."""
        if not await api.live.list("ConfigMap/v1", namespace=request.namespace):
            name = f"child-{api.uuid()}"
            await api.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
            )


def test_two_reconciles_that_draw_names_make_two_objects() -> None:
    """Each draws its own: the names differ, as they would."""

    def one_child(cluster: Cluster) -> bool:
        return len(cluster.list("ConfigMap/v1")) <= 1

    verdict = check(_scenario(Names(), properties=[always(one_child)], bounds=Bounds(lag=0, concurrent=2)))
    assert "one_child" in {violation.property for violation in verdict.violations}
    assert {len(Cluster(state=state).list("ConfigMap/v1")) for state in verdict.end_states} == {1, 2}


class Cuts(Names):
    """Uses a part of what it drew."""

    async def reconcile(self, request: Request, api: Api) -> None:
        """One child with a short name."""
        name = f"{request.name}-{api.uuid()[:8]}"
        await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})


def test_a_part_of_a_uuid_is_refused_with_the_call_that_holds_it() -> None:
    with pytest.raises(
        Nondeterminism, match=r"the call 'create ConfigMap/v1.* holds a part of what api.uuid\(\) returned"
    ):
        check(_scenario(Cuts()))


class Keeps(Controller):
    """Keeps the uuid it drew from one run to the next."""

    kind = KIND
    memory = ("mine",)
    mine = ""

    async def reconcile(self, request: Request, api: Api) -> None:
        """Draw once, write it in the second run."""
        widget = await api.get(KIND, request)
        if not self.mine:
            self.mine = api.uuid()
            await self._write(api, widget, {"drawn": True})
        elif not (widget.get("status") or {}).get("id"):
            await self._write(api, widget, {"id": self.mine})

    async def _write(self, api: Api, widget: dict[str, Any], change: dict[str, Any]) -> None:
        base = copy.deepcopy(widget)
        widget["status"] = {**(widget.get("status") or {}), **change}
        await api.status.patch(widget, merge_from(base))


def test_a_uuid_that_is_remembered_is_the_same_in_the_next_run() -> None:
    verdict = check(_scenario(Keeps()))
    assert verdict.ok
    (end,) = verdict.end_states
    assert _status(Cluster(state=end))["id"].startswith("00000000-0000-4000-b000-")


def _drawn(**known: Any) -> str:
    """What a reconcile draws while another one is under way, or a controller remembers something."""
    state = Cluster().state
    answer = f'={{"id":"{FIRST}"}}'.encode() if known.get("told") else b"={}"
    node = Node(b"", None, answer, None, None, 0, ("", 0))
    flight = Flight(Key("default", "w"), node, known.get("began", b"{}"), (), known.get("bound", ()))
    pilot = Pilot((state.resource_version,), frozenset(), frozenset(), flight, known.get("memory", b"{}"))
    world = World(state, (pilot,), 0, 0, 0, HashTrieMap(known.get("stored", {})))
    (drawn,) = Uuids([("widgets.example.com",)]).drawn(world, (), 1)
    return drawn


@pytest.mark.parametrize(
    "known",
    [
        {"told": True},
        {"bound": (FIRST,)},
        {"memory": f'{{"mine":"{FIRST}"}}'.encode()},
        {"began": f'{{"mine":"{FIRST}"}}'.encode()},
        {"stored": {FIRST: 1}},
    ],
)
def test_a_uuid_that_somebody_still_knows_is_not_drawn_again(known: dict[str, Any]) -> None:
    assert _drawn(**known) == SECOND


def test_a_uuid_that_nobody_knows_any_more_is() -> None:
    assert _drawn() == FIRST
