"""The example operators are correct in every order of calls, with lagging caches and two instances."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from definitions import definition
from effort import effort
from explore.programs import by_brute_force
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, always, check, eventually, update
from kontend.explore.model.state.canonical import canonical_cluster
from kontend.runtime.user_file import controllers_in, load_file

EXAMPLES = Path(__file__).parents[2] / "examples"
DEPLOYMENT = "Deployment.apps/v1"
WEBSITE: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Website",
    "metadata": {"name": "home", "namespace": "default"},
    "spec": {"image": "nginx:1", "replicas": 1},
}
SITES = yaml.safe_load((EXAMPLES / "website_crd.yaml").read_text())
APPS = definition("App")
APP: dict[str, Any] = {**WEBSITE, "kind": "App", "metadata": {"name": "home", "namespace": "default"}}


def _one_deployment(cluster: Cluster) -> bool:
    return len(cluster.list(DEPLOYMENT)) <= 1


def _image(cluster: Cluster) -> str:
    (deployment,) = cluster.list(DEPLOYMENT)
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


@pytest.mark.parametrize(("lag", "concurrent"), [(0, 2), (1, 1)])
def test_the_website_operator_follows_the_image_and_makes_one_deployment(lag: int, concurrent: int) -> None:
    def follows(cluster: Cluster) -> bool:
        return _image(cluster) == "nginx:2"

    def starts(cluster: Cluster) -> bool:
        return bool(cluster.get("Website.example.com/v1", "home").get("status", {}).get("deployment"))

    verdict = check(
        Scenario(
            controllers=controllers_in(load_file(EXAMPLES / "website_operator.py")),
            crds=[SITES],
            objects=[WEBSITE],
            actions=[update(WEBSITE, spec={"image": "nginx:2"})],
            properties=[always(_one_deployment), eventually(starts)],
            bounds=Bounds(faults=0, lag=lag, concurrent=concurrent),
        )
    )
    assert str(verdict).startswith("holds in all")
    assert all(follows(Cluster(state=state)) for state in verdict.final_states)


#: Two instances that interleave call by call have more states than a test should search.
_STATES = effort(3_000, 40_000)


@pytest.mark.parametrize(
    "bounds",
    [
        Bounds(faults=0, lag=1),
        Bounds(faults=0, lag=1, concurrent=2, atomic=True),
        Bounds(faults=0, lag=0, concurrent=2, states=_STATES),
        Bounds(faults=0, lag=1, concurrent=2, states=_STATES),
    ],
    ids=["one instance", "atomic", "fresh caches", "lagging caches"],
)
def test_the_plan_of_the_rollout_operator_is_carried_out_once(bounds: Bounds) -> None:
    def announced_once(cluster: Cluster) -> bool:
        return len(cluster.list("ConfigMap/v1")) <= 1

    verdict = check(
        Scenario(
            controllers=controllers_in(load_file(EXAMPLES / "rollout_operator.py")),
            crds=[APPS],
            objects=[APP],
            properties=[always(_one_deployment), always(announced_once)],
            bounds=bounds,
        )
    )
    assert verdict.violations == []
    assert verdict.exhausted or bounds.states == _STATES


def test_the_operators_have_the_verdict_of_brute_force() -> None:
    for name, crd, obj in (("website", SITES, WEBSITE), ("rollout", APPS, APP)):
        scenario = Scenario(
            controllers=controllers_in(load_file(EXAMPLES / f"{name}_operator.py")),
            crds=[crd],
            objects=[obj],
            actions=[update(obj, spec={"image": "nginx:2"})] if name == "website" else [],
            properties=[always(_one_deployment)],
            bounds=Bounds(faults=0, lag=1),
        )
        reduced, full = check(scenario), check(by_brute_force(scenario))
        assert (reduced.ok, full.ok) == (True, True)
        assert {canonical_cluster(state) for state in reduced.final_states} == {
            canonical_cluster(state) for state in full.final_states
        }
