"""Hand-overs: the last write of an instance arrives after another one has taken its place."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, always, check, update
from kontend.kube.errors import NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request


class Copies(Controller):
    """Copies the size of a widget to its status."""

    kind = KIND
    lock: bool = False

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            widget = await api.get(KIND, request)
        except NotFound:
            return
        base = copy.deepcopy(widget)
        widget.setdefault("status", {})["size"] = widget.get("spec", {}).get("size", 0)
        await api.status.patch(widget, merge_from(base, lock=self.lock))


class Locked(Copies):
    """The same with a lock."""

    lock = True


ONLY: dict[str, Any] = {"lag": 0, "crashes": 0, "failed": 0, "lost": 0}


@pytest.mark.parametrize(("controller", "names"), [(Copies, ["lost update"]), (Locked, [])])
def test_a_write_that_arrives_late_overwrites_what_the_successor_wrote(
    controller: type[Controller], names: list[str]
) -> None:
    scenario = Scenario(
        [controller()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 2})],
        bounds=Bounds(**ONLY, handovers=1),
    )
    verdict = check(scenario)
    assert [violation.property for violation in verdict.violations] == names
    assert verdict.exhausted
    if names:
        assert any("is replaced by another process" in line for line in verdict.violations[0].trace)
        assert "the late patch" in verdict.violations[0].trace[-1]


def test_without_hand_overs_the_write_is_safe() -> None:
    scenario = Scenario(
        [Copies()], crds=[CRD], objects=[WIDGET], actions=[update(WIDGET, spec={"size": 2})], bounds=Bounds(**ONLY)
    )
    assert check(scenario).ok


class Marks(Controller):
    """Creates a config map with a uuid of its own, each time."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        del request
        metadata = {"generateName": "m-", "namespace": "default"}
        await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"id": api.uuid()}})


def test_a_late_write_and_the_successor_have_uuids_of_their_own() -> None:
    def distinct(cluster: Cluster) -> bool:
        ids = [config_map["data"]["id"] for config_map in cluster.list("ConfigMap/v1")]
        return len(ids) == len(set(ids))

    scenario = Scenario(
        [Marks()], crds=[CRD], objects=[WIDGET], properties=[always(distinct)], bounds=Bounds(**ONLY, handovers=1)
    )
    assert "distinct" not in [violation.property for violation in check(scenario).violations]
