"""Violations that were missed: caches of other kinds, reads of the server across kinds, and what properties read."""

from __future__ import annotations

import contextlib
import copy
from typing import Any, Final

from definitions import definition
from explore.oracle.cases.common import (
    CM,
    CRD,
    NO_STATUS,
    OFF,
    TWO_VERSIONS,
    WIDGET,
    Flickers,
    W,
    case,
    cm,
    data_of,
    made,
    patched,
)
from kontend.cluster.cluster import Cluster
from kontend.cluster.request import ApiRequest
from kontend.explore import Bounds, Scenario, never, update
from kontend.kube.errors import ApiError, NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request


@case
def endless_write_loop() -> Scenario:
    """Each patch of the main resource raises the generation that the next reconcile stamps."""

    class Stamps(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            generation = w["metadata"]["generation"]
            if (w.get("status") or {}).get("observedGeneration") == generation:
                return
            base = copy.deepcopy(w)
            w["status"] = {"observedGeneration": generation}
            await api.patch(w, merge_from(base))

    return Scenario([Stamps()], crds=[NO_STATUS], objects=[WIDGET], guards=OFF)


@case
def endless_write_loop_without_lag() -> Scenario:
    """The same with caches that are up to date."""
    first = endless_write_loop()
    return Scenario(first.controllers, crds=[NO_STATUS], objects=[WIDGET], guards=OFF, bounds=Bounds(faults=0, lag=0))


@case
def undeclared_kind() -> Scenario:
    """A stale config map of a kind that the controller does not declare, with a fresh widget."""

    class Joins(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            a = await api.get(CM, "default/a")
            w = await api.get(W, request)
            await made(api, cm("out", {"s": a["data"]["v"] + str(w["spec"]["size"])}))

    return Scenario(
        [Joins()],
        crds=[CRD],
        objects=[WIDGET, cm("a", {"v": "0"})],
        actions=[update(cm("a"), data={"v": "1"}), update(WIDGET, spec={"size": 2})],
        properties=[never(lambda cluster: data_of(cluster, "out").get("s") == "02", name="02")],
        guards=OFF,
    )


@case
def another_version_of_the_kind() -> Scenario:
    """The kind is declared as v1 and read as v2, which has a cache of its own."""

    class Reads(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            other = await api.get("Widget.example.com/v2", request)
            w = await api.get(W, request)
            await made(api, cm(f"out-{other['spec']['size']}-{w['spec']['size']}"))

    return Scenario(
        [Reads()],
        crds=[TWO_VERSIONS],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 2})],
        properties=[
            never(lambda cluster: len(cluster.list(CM)) > 1, name="two"),
            never(
                lambda cluster: any(config_map["metadata"]["name"] == "out-1-2" for config_map in cluster.list(CM)),
                name="old",
            ),
            never(
                lambda cluster: any(config_map["metadata"]["name"] == "out-2-1" for config_map in cluster.list(CM)),
                name="new",
            ),
        ],
        guards=OFF,
    )


@case
def namespace_that_comes_late() -> Scenario:
    """A create reads the namespace that another controller makes."""

    class Labels(Controller):
        kind = W
        name = "a"

        async def reconcile(self, r: Request, api: Api) -> None:
            one = await api.live.get(W, r)
            two = await api.live.get(W, r)
            if two["metadata"].get("labels"):
                return
            base = copy.deepcopy(two)
            two["metadata"]["labels"] = {"go": "1"}
            await api.patch(two, merge_from(base))
            if one["spec"] == two["spec"]:
                return
            with contextlib.suppress(NotFound):
                metadata = {"name": "s", "namespace": "late"}
                await api.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})

    class Namespaces(Controller):
        kind = W
        name = "b"

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            if w["metadata"].get("labels"):
                await made(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "late"}})

    return Scenario(
        [Labels(), Namespaces()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 2})],
        bounds=Bounds(faults=0, lag=0),
        guards=OFF,
    )


POD: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default", "labels": {"app": "p"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}
PDB: Final[dict[str, Any]] = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "p"}}, "maxUnavailable": 1},
    "status": {
        "disruptionsAllowed": 0,
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
        "observedGeneration": 1,
    },
}


@case
def eviction_reads_a_budget() -> Scenario:
    """An eviction is allowed or refused by an object of another kind."""

    class Evicts(Controller):
        kind = W
        name = "a"

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.live.get(W, request)
            if w["metadata"].get("labels"):
                return
            await patched(api, w, metadata={**w["metadata"], "labels": {"go": "1"}})
            eviction = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": "p", "namespace": "default"},
            }
            with contextlib.suppress(ApiError):
                await api.create_subresource(POD, "eviction", eviction)

    class Budgets(Controller):
        kind = W
        name = "b"

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            if not w["metadata"].get("labels"):
                return
            budget = await api.live.get("PodDisruptionBudget.policy/v1", "default/b")
            if not budget["status"]["disruptionsAllowed"]:
                base = copy.deepcopy(budget)
                budget["status"]["disruptionsAllowed"] = 1
                await api.status.patch(budget, merge_from(base))

    return Scenario(
        [Evicts(), Budgets()], crds=[CRD], objects=[WIDGET, POD, PDB], bounds=Bounds(faults=0, lag=0), guards=OFF
    )


class _Secrets(Controller):
    """Makes a secret and deletes it again."""

    kind = "Gadget.example.com/v1"
    name = "secrets"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Once."""
        gadget = await api.get(self.kind, request)
        if gadget["metadata"].get("labels"):
            return
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
        if await made(api, copy.deepcopy(secret)):
            await api.delete(secret)
        await patched(api, gadget, metadata={**gadget["metadata"], "labels": {"done": "1"}})


GADGET: Final[dict[str, Any]] = {**WIDGET, "kind": "Gadget"}


def _both_by_list(cluster: Cluster) -> bool:
    return bool(cluster.list(CM)) and bool(cluster.list("Secret/v1"))


def _both_by_state(cluster: Cluster) -> bool:
    return bool(list(cluster.state.objects("configmaps"))) and bool(list(cluster.state.objects("secrets")))


def _both_by_fork(cluster: Cluster) -> bool:
    return _both_by_list(cluster.fork())


def _both_by_request(cluster: Cluster) -> bool:
    paths = ("/api/v1/configmaps", "/api/v1/secrets")
    return all(cluster.request(ApiRequest("GET", path)).body["items"] for path in paths)


@case
def properties_that_look_past_the_methods() -> Scenario:
    """One question in four forms."""
    return Scenario(
        [Flickers(), _Secrets()],
        crds=[CRD, definition("Gadget")],
        objects=[WIDGET, GADGET],
        properties=[never(question) for question in (_both_by_list, _both_by_state, _both_by_fork, _both_by_request)],
        bounds=Bounds(faults=0, lag=0),
        guards=OFF,
    )


@case
def property_of_the_state_alone() -> Scenario:
    """The same question, asked of the state only."""
    return Scenario(
        [Flickers(), _Secrets()],
        crds=[CRD, definition("Gadget")],
        objects=[WIDGET, GADGET],
        properties=[never(_both_by_state)],
        bounds=Bounds(faults=0, lag=0),
        guards=OFF,
    )
