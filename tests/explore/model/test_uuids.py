"""Generated uuids are never chosen twice, and their choice does not depend on the order of independent runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from explore.programs import by_brute_force
from explore.widgets import CRD, KIND, UNGUARDED, WIDGET, Widgets, double_plan
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Reductions, Scenario, Verdict, check, create, delete, never
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.kube.errors import NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_patch
from kontend.runtime.controller import Controller, Request, Result

MAP = "ConfigMap/v1"


def _map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


class Jobs(Controller):
    """Creates a config map with a fresh uuid in its name, deletes it, and creates the next one."""

    kind = KIND
    memory = ("names",)
    names: list[str] = []  # noqa: RUF012 - the explorer sets it for each run

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Create and delete three times."""
        await api.get(self.kind, request)
        if len(self.names) < 3:
            name = f"job-{api.uuid()}"
            self.names = [*self.names, name]
            await api.create(_map(name))
            await api.delete(_map(name))
            return Result(requeue=True)
        await self._store(api)
        return Result()

    async def _store(self, api: Api) -> None:
        widget = await api.live.get(self.kind, "default/w")
        if not widget.get("status"):
            await api.status.patch(widget, merge_patch({"status": {"names": len(set(self.names))}}))


def _statuses(verdict: Verdict) -> list[Any]:
    return [Cluster(state=state).get(KIND, "w").get("status") for state in verdict.final_states]


@pytest.mark.parametrize("reductions", [Reductions(), Reductions(uuids=False)])
def test_a_uuid_is_not_chosen_again_after_its_object_is_deleted(reductions: Reductions) -> None:
    scenario = Scenario([Jobs()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0), guards=UNGUARDED)
    verdict = check(replace(scenario, reductions=reductions))
    assert verdict.exhausted
    assert _statuses(verdict) == [{"names": 3}]


class Cuts(Controller):
    """Names an object after a part of the uid of its owner."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create the object."""
        widget = await api.get(self.kind, request)
        name = f"of-{widget['metadata']['uid'][:8]}"
        try:
            await api.live.get(MAP, f"default/{name}")
        except NotFound:
            await api.create(_map(name))


def test_parts_of_uids_are_made_up_names_in_final_states() -> None:
    """A recreated widget has another uid: two objects, whose names mean nothing."""
    scenario = Scenario(
        [Cuts()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[delete(WIDGET), create(WIDGET)],
        bounds=Bounds(faults=0, lag=0),
        guards=UNGUARDED,
    )
    verdict = check(scenario)
    names = {
        len(
            {
                item["metadata"]["name"]
                for item in Cluster(state=state).list(MAP)
                if item["metadata"]["name"][:3] == "of-"
            }
        )
        for state in verdict.final_states
    }
    assert names == {1, 2}


def test_two_instances_never_generate_the_same_uuid() -> None:
    seen: set[tuple[str, str]] = set()

    def same(before: Cluster, after: Cluster) -> bool:
        old, new = ((cluster.get(KIND, "w").get("status") or {}).get("plan") for cluster in (before, after))
        if old and new:
            seen.add((old["id"], new["id"]))
        return bool(old) and old == new

    scenario = replace(double_plan(Widgets(), lag=1, concurrent=2), properties=[never(same)])
    verdict = check(scenario)
    assert "same" not in {violation.property for violation in verdict.violations}
    assert seen
    assert all(old != new for old, new in seen)


def test_the_choice_of_uuids_does_not_depend_on_the_reduction() -> None:
    scenario = double_plan(Widgets(), lag=0, concurrent=2)
    forms = [
        set(map(canonical_cluster, check(variant).final_states)) for variant in (scenario, by_brute_force(scenario))
    ]
    assert forms[0] == forms[1]
