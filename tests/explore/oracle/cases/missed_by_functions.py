"""Violations that were missed: properties and mapping functions that look further; stamps of what was read again."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping
from typing import Any

from explore.oracle.cases.common import CM, CRD, OFF, WIDGET, W, case, cm, data_of, made, patched
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, Writer, create, never, update
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request
from kontend.runtime.predicates import GenerationChanged

LEASE = "Lease.coordination.k8s.io/v1"


class Idle(Controller):
    """Looks, and does nothing."""

    kind = W
    name = "idle"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Look."""
        with contextlib.suppress(NotFound):
            await api.get(W, request)


@case
def a_property_that_compares_versions() -> Scenario:
    """Two users change two objects in either order; only the versions tell in which."""
    other = copy.deepcopy(WIDGET)
    other["metadata"]["name"] = "v"

    def versions(cluster: Cluster) -> list[int]:
        objects = [cluster.get(W, name) for name in ("w", "v")]
        return [int(obj["metadata"]["resourceVersion"]) for obj in objects if obj["spec"]["size"] == 2]

    def in_order(cluster: Cluster) -> bool:
        found = versions(cluster)
        return len(found) == 2 and found[0] < found[1]

    def out_of_order(cluster: Cluster) -> bool:
        found = versions(cluster)
        return len(found) == 2 and found[0] > found[1]

    return Scenario(
        [Idle()],
        crds=[CRD],
        objects=[WIDGET, other],
        writers=[
            Writer("one", [update(WIDGET, spec={"size": 2})]),
            Writer("two", [update(other, spec={"size": 2})]),
        ],
        properties=[never(in_order), never(out_of_order)],
        bounds=Bounds(faults=0, lag=0),
        guards=OFF,
    )


@case
def a_function_that_counts_after_a_relist() -> Scenario:
    """One event after the other, the function finds one config map, then two; after a relist it finds two at once."""

    def if_alone(_obj: Mapping[str, Any], cache: Cache) -> list[str]:
        return ["default/w"] if len(cache.list(CM)) == 1 else []

    class Marks(Controller):
        kind = W
        name = "marks"
        watches = {CM: if_alone}  # noqa: RUF012

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            if await api.list(CM):
                await patched(api, w, metadata={**w["metadata"], "labels": {"seen": "1"}})

    def is_missed(cluster: Cluster) -> bool:
        return len(cluster.list(CM)) == 2 and not cluster.get(W, "w")["metadata"].get("labels")

    def is_seen(cluster: Cluster) -> bool:
        return len(cluster.list(CM)) == 2 and bool(cluster.get(W, "w")["metadata"].get("labels"))

    return Scenario(
        [Marks()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[create(cm("a")), create(cm("b"))],
        properties=[never(is_missed), never(is_seen)],
        bounds=Bounds(faults=0, lag=2),
        guards=OFF,
    )


@case
def a_function_that_looks_at_a_kind_that_is_only_read() -> Scenario:
    """The function finds a lease only because a reconcile has read leases before."""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l", "namespace": "default"}}

    def if_leased(_obj: Mapping[str, Any], cache: Cache) -> list[str]:
        return ["default/w"] if cache.list(LEASE) else []

    class Marks(Controller):
        kind = W
        name = "marks"
        watches = {CM: if_leased}  # noqa: RUF012
        predicates = {W: GenerationChanged()}  # noqa: RUF012

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            await api.list(LEASE)
            again = "2" if w["metadata"].get("labels") else "1"
            await patched(api, w, metadata={**w["metadata"], "labels": {"seen": again}})

    def is_seen(cluster: Cluster) -> bool:
        return bool((cluster.get(W, "w")["metadata"].get("labels") or {}).get("seen") == "2")

    return Scenario(
        [Marks()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[create({**lease, "spec": {}}), create(cm("a"))],
        properties=[never(is_seen)],
        bounds=Bounds(faults=0, lag=1),
        guards=OFF,
    )


@case
def a_generation_that_is_read_again_by_code_that_stores_versions() -> Scenario:
    """The stamp is that of the second read, after the work."""

    class Stamps(Controller):
        kind = W
        name = "stamps"

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.live.get(W, request)
            work = cm("out", {"version": w["metadata"]["resourceVersion"]})
            with contextlib.suppress(AlreadyExists):
                await api.create(work)
            w = await api.live.get(W, request)
            base = copy.deepcopy(w)
            w.setdefault("status", {})["observedGeneration"] = w["metadata"]["generation"]
            if w != base:
                await api.status.patch(w, merge_from(base))

    return Scenario(
        [Stamps()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 2})],
        bounds=Bounds(faults=0, lag=0),
        guards=OFF,
    )


@case
def starts_of_uids_of_the_first_objects() -> Scenario:
    """Four characters tell two objects apart."""

    class Notes(Controller):
        kind = W
        name = "notes"

        async def reconcile(self, request: Request, api: Api) -> None:
            w, a = await api.get(W, request), await api.live.get(CM, "default/a")
            same = w["metadata"]["uid"][:4] == a["metadata"]["uid"][:4]
            await made(api, cm("out", {"same": str(same)}))

    return Scenario(
        [Notes()],
        crds=[CRD],
        objects=[WIDGET, cm("a")],
        properties=[never(lambda cluster: data_of(cluster, "out").get("same") == "True", name="same")],
        bounds=Bounds(faults=0, lag=0),
        guards=OFF,
    )
