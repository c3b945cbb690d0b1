"""Bugs that another tool has published, modelled as published: found with default bounds, and their twins clean."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from kontend import (
    AlreadyExists,
    Api,
    Cluster,
    Controller,
    Guards,
    NotFound,
    Request,
    is_controlled_by,
    new_object,
    set_controller_reference,
)
from kontend.explore import Scenario, check, create, delete, update
from kontend.explore.planned.plan import plan_of
from kontend.explore.planned.running import explore_plan
from kontend.explore.scenario_files import scenarios_in
from kontend.testing import permissive_crd

ZOOKEEPER = "ZookeeperCluster.zookeeper.pravega.io/v1beta1"
CLAIM = "ConfigMap/v1"  # stands for the PersistentVolumeClaim
RABBIT = "RabbitmqCluster.rabbitmq.com/v1beta1"
SET = "Set.rabbitmq.com/v1"  # stands for the StatefulSet


class Clusters(Controller):
    """Creates the claims of a cluster, and deletes them before it goes: by the name of the cluster."""

    kind = ZOOKEEPER
    owns = (CLAIM,)
    compares_uids = False

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            cluster = await api.get(ZOOKEEPER, request)
        except NotFound:
            return
        claims = await api.live.list(CLAIM, namespace="default", labels={"app": request.name})
        if cluster["metadata"].get("deletionTimestamp"):
            for claim in claims:
                if not self.compares_uids or is_controlled_by(claim, cluster):
                    with suppress(NotFound):
                        await api.delete(claim)
            cluster["metadata"]["finalizers"] = []
            with suppress(NotFound):
                await api.update(cluster)
            return
        names = {claim["metadata"]["name"] for claim in claims}
        for member in range(cluster["spec"]["size"]):
            claim = new_object(CLAIM, f"data-z-{member}", namespace="default", labels={"app": request.name})
            set_controller_reference(cluster, claim)
            if claim["metadata"]["name"] not in names:
                with suppress(AlreadyExists):
                    await api.create(claim)


class ClustersFixed(Clusters):
    name = "clusters"
    compares_uids = True


Z = new_object(ZOOKEEPER, "z", spec={"size": 3}, finalizers=["zookeeper.pravega.io/claims"])
ZK312 = Scenario(
    controllers=[Clusters()],
    crds=[permissive_crd(ZOOKEEPER)],
    objects=[Z],
    actions=[delete(Z), create(Z, retry=True)],
    guards=Guards.off(),
)


def test_zk312_the_claims_of_the_new_cluster_are_deleted_for_the_old_one() -> None:
    verdict = check(ZK312)
    assert "wrong owner" in {violation.property for violation in verdict.violations}
    assert verdict.exhausted


def test_zk312_comparing_uids_is_clean_in_the_whole_space() -> None:
    assert check(replace(ZK312, controllers=[ClustersFixed()])).ok


ROOT = Path(__file__).parents[2]
SOURCE = "GitRepository.source.toolkit.fluxcd.io/v1"


def test_flux_with_a_frozen_cache_fails_forever_and_writes_nothing() -> None:
    frozen = {"reconciler": "sources", "kind": SOURCE, "staleAt": 2}
    scenario = scenarios_in(ROOT / "examples" / "flux" / "source_controller.py")["create"]
    verdict = explore_plan(scenario, plan_of({"stalenessIntervals": [frozen]}, "plan"))
    lasso = {violation.property: violation for violation in verdict.violations}["fails forever"]
    assert "timed out waiting for the condition" in lasso.sentence
    assert explore_plan(scenario, plan_of({}, "plan")).ok


@pytest.mark.parametrize(
    ("entry", "symptom"), [("flux_f1c", "observed_without_conditions"), ("flux_f1d", "ready_for_the_future")]
)
def test_flux_a_torn_status_and_a_future_stamp_are_found(entry: str, symptom: str) -> None:
    scenarios = scenarios_in(ROOT / "zoo" / f"{entry}.py")
    verdict = check(scenarios["buggy"])
    names = {violation.property for violation in verdict.violations}
    assert symptom in names
    # The symptom that was published is not reachable: the artifact and the generation leave in one request.
    assert verdict.exhausted
    assert "artifact_without_observed_generation" not in names
    assert check(scenarios["fixed"]).ok


class Rabbits(Controller):
    """Scales a set up, and refuses to scale it down."""

    kind = RABBIT
    owns = (SET,)
    scales_down = False

    async def reconcile(self, request: Request, api: Api) -> None:
        cluster = await api.get(RABBIT, request)
        replicas = cluster["spec"]["replicas"]
        try:
            stateful_set = await api.live.get(SET, "default/r-server")
        except NotFound:
            stateful_set = new_object(SET, "r-server", namespace="default", spec={"replicas": replicas})
            set_controller_reference(cluster, stateful_set)
            with suppress(AlreadyExists):
                await api.create(stateful_set)
            return
        present = stateful_set["spec"]["replicas"]
        if replicas > present or (replicas < present and self.scales_down):
            stateful_set["spec"]["replicas"] = replicas
            await api.update(stateful_set)


class RabbitsFixed(Rabbits):
    name = "rabbits"
    scales_down = True


R = new_object(RABBIT, "r", spec={"replicas": 1})
UNOBSERVED = Scenario(
    controllers=[Rabbits()],
    crds=[permissive_crd(RABBIT), permissive_crd(SET)],
    objects=[R],
    actions=[update(R, spec={"replicas": 3}), update(R, spec={"replicas": 2})],
    guards=Guards.off(),
)


def replicas(final: object) -> int:
    assert isinstance(final, Cluster)
    size: int = final.get(SET, "r-server")["spec"]["replicas"]
    return size


def test_rabbitmq_ends_differently_when_it_misses_the_size_between() -> None:
    verdict = check(UNOBSERVED)
    (violation,) = verdict.violations
    assert violation.property == "diverged"
    assert violation.perturbations == 1
    assert sorted(replicas(Cluster(state=state)) for state in verdict.final_states) == [2, 3]
    assert "before the controllers have settled" in str(verdict)


def test_rabbitmq_with_a_scale_down_ends_in_one_state() -> None:
    verdict = check(replace(UNOBSERVED, controllers=[RabbitsFixed()]))
    assert verdict.ok
    assert [replicas(Cluster(state=state)) for state in verdict.final_states] == [2]
    assert not verdict.notes
