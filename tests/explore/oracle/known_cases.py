"""Scenarios whose answers were wrong once, each reduced to its essence.

``python -m explore.oracle.known_cases`` (with ``tests`` on the path) asks the oracle and the explorer about each of
them and prints whether they agree.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from definitions import definition
from explore.oracle.comparison import WAYS, differences, expected, explored
from kontend.cluster.cluster import Cluster
from kontend.cluster.request import ApiRequest
from kontend.explore import (
    Bounds,
    Scenario,
    always,
    create,
    delete,
    eventually,
    never,
    sometimes,
    update,
)
from kontend.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from, merge_patch
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.guards import Guards

W: Final = "Widget.example.com/v1"
CM: Final = "ConfigMap/v1"
CRD: Final = definition("Widget")
NO_STATUS: Final = copy.deepcopy(CRD)
del NO_STATUS["spec"]["versions"][0]["subresources"]
TWO_VERSIONS: Final = copy.deepcopy(CRD)
TWO_VERSIONS["spec"]["versions"].append({**CRD["spec"]["versions"][0], "name": "v2", "storage": False})
SCALED: Final = copy.deepcopy(CRD)
SCALED["spec"]["versions"][0]["subresources"]["scale"] = {
    "specReplicasPath": ".spec.size",
    "statusReplicasPath": ".status.size",
}
WIDGET: Final[dict[str, Any]] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"size": 1},
}
OFF: Final = Guards(
    read_your_writes=False, delete_preconditions=False, locked_status=False, monotonic_views=False, fencing=False
)
ON: Final = Guards(fencing=False)

#: The cases by name: a function that makes the scenario.
CASES: Final[dict[str, Callable[[], Scenario]]] = {}


def case(make: Callable[[], Scenario]) -> Callable[[], Scenario]:
    """Add a case under the name of its function."""
    CASES[make.__name__] = make
    return make


def cm(name: str, data: Mapping[str, str] | None = None, *, namespace: str = "default") -> dict[str, Any]:
    """A config map."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data or {})}


def data_of(cluster: Cluster, name: str) -> dict[str, str]:
    """The data of a config map, empty where it does not exist."""
    try:
        return dict(cluster.get(CM, name).get("data") or {})
    except NotFound:
        return {}


async def patched(api: Api, obj: dict[str, Any], **fields: Any) -> None:
    """A merge patch of top-level fields, from the object as it was read."""
    base = copy.deepcopy(obj)
    for name, value in fields.items():
        obj[name] = {**(obj.get(name) or {}), **value}
    await api.patch(obj, merge_from(base))


async def made(api: Api, obj: dict[str, Any]) -> bool:
    """Create an object; whether it was not there."""
    try:
        await api.create(obj)
    except AlreadyExists:
        return False
    return True


# Missed violations


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
    return Scenario(first.controllers, crds=[NO_STATUS], objects=[WIDGET], guards=OFF, bounds=Bounds(lag=0))


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
            never(lambda cluster: any(each["metadata"]["name"] == "out-1-2" for each in cluster.list(CM)), name="old"),
            never(lambda cluster: any(each["metadata"]["name"] == "out-2-1" for each in cluster.list(CM)), name="new"),
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
        bounds=Bounds(lag=0),
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

    return Scenario([Evicts(), Budgets()], crds=[CRD], objects=[WIDGET, POD, PDB], bounds=Bounds(lag=0), guards=OFF)


class _Flickers(Controller):
    """Makes a config map and deletes it again."""

    kind = W
    name = "flickers"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Once."""
        w = await api.get(W, request)
        if w["metadata"].get("labels"):
            return
        if await made(api, cm("x", {"a": "1"})):
            await api.delete(cm("x"))
        await patched(api, w, metadata={**w["metadata"], "labels": {"done": "1"}})


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
        [_Flickers(), _Secrets()],
        crds=[CRD, definition("Gadget")],
        objects=[WIDGET, GADGET],
        properties=[never(each) for each in (_both_by_list, _both_by_state, _both_by_fork, _both_by_request)],
        bounds=Bounds(lag=0),
        guards=OFF,
    )


@case
def property_of_the_state_alone() -> Scenario:
    """The same question, asked of the state only."""
    return Scenario(
        [_Flickers(), _Secrets()],
        crds=[CRD, definition("Gadget")],
        objects=[WIDGET, GADGET],
        properties=[never(_both_by_state)],
        bounds=Bounds(lag=0),
        guards=OFF,
    )


@case
def eventually_of_every_final_state() -> Scenario:
    """Two final states differ only in their managed fields."""

    class Sets(Controller):
        kind = W
        name = "a"

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.live.get(W, request)
            if not w.get("status"):
                with contextlib.suppress(Conflict):
                    base = copy.deepcopy(w)
                    w["status"] = {"x": 1}
                    await api.status.patch(w, merge_from(base, lock=True))

    class SetsToo(Sets):
        name = "b"

    def by_a(cluster: Cluster) -> bool:
        entries = cluster.get(W, "w")["metadata"].get("managedFields", [])
        return any(each["manager"] == "a" and each.get("subresource") == "status" for each in entries)

    return Scenario(
        [Sets(), SetsToo()],
        crds=[CRD],
        objects=[WIDGET],
        properties=[eventually(by_a)],
        bounds=Bounds(lag=0),
        guards=OFF,
    )


def _generations(atomic: bool) -> Scenario:
    class Clamps(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.live.get(W, request)
            if w["spec"]["size"] > 1:
                await patched(api, w, spec={"size": 1})

    class Once(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.live.get(W, request)
            if w["spec"]["size"] == 1 and w["metadata"]["generation"] != 1:
                await made(api, cm("out", {"gen": str(w["metadata"]["generation"])}))

    return Scenario(
        [Clamps(), Once()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 2}), update(WIDGET, spec={"size": 2})],
        properties=[
            never(lambda cluster: data_of(cluster, "out").get("gen") == "5", name="five"),
            sometimes(lambda cluster: cluster.get(W, "w")["metadata"]["generation"] == 5, name="is five"),
        ],
        bounds=Bounds(lag=0, atomic=atomic),
        guards=OFF,
    )


@case
def generation_as_a_number_atomic() -> Scenario:
    """A generation is copied into another object."""
    return _generations(True)


@case
def generation_as_a_number() -> Scenario:
    """The same, call by call."""
    return _generations(False)


@case
def generation_in_another_object() -> Scenario:
    """A generation that is kept in another object and compared for equality."""

    class Copies(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            generation = str(w["metadata"]["generation"])
            try:
                kept = await api.live.get(CM, "default/kept")
            except NotFound:
                await api.create(cm("kept", {"generation": generation}))
                return
            if kept["data"]["generation"] != generation:
                await patched(api, kept, data={"generation": generation})

    class Clamps(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.live.get(W, request)
            if w["spec"]["size"] > 1:
                await patched(api, w, spec={"size": 1})

    return Scenario(
        [Copies(), Clamps()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 2})],
        bounds=Bounds(lag=0),
        guards=OFF,
    )


def _own_write_of_another_kind(atomic: bool) -> Scenario:
    class Compares(Controller):
        kind = W
        watches = {CM: lambda _obj, _cache: []}  # noqa: RUF012

        async def reconcile(self, request: Request, api: Api) -> None:
            live = await api.live.get(W, request)
            if not await made(api, cm("x")):
                return
            await api.list(CM, namespace="default")
            w = await api.get(W, request)
            if w["spec"]["size"] < live["spec"]["size"]:
                await api.create(cm("stale"))

    return Scenario(
        [Compares()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 2})],
        properties=[
            never(lambda cluster: any(each["metadata"]["name"] == "stale" for each in cluster.list(CM)), name="stale")
        ],
        bounds=Bounds(lag=1, atomic=atomic),
        guards=ON,
    )


@case
def own_write_of_another_kind_atomic() -> Scenario:
    """A read that waits for an own write waits for that kind only."""
    return _own_write_of_another_kind(True)


@case
def own_write_of_another_kind() -> Scenario:
    """The same, call by call."""
    return _own_write_of_another_kind(False)


@case
def part_of_a_uid_in_a_name() -> Scenario:
    """A uid is not used again, even when only a part of it is left."""

    class Children(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            try:
                w = await api.get(W, request)
            except NotFound:
                return
            await made(api, cm("w-" + w["metadata"]["uid"][:8]))

    return Scenario(
        [Children()],
        crds=[CRD],
        actions=[create(WIDGET), delete(WIDGET), create(WIDGET)],
        properties=[never(lambda cluster: len(cluster.list(CM)) > 1, name="two children")],
        bounds=Bounds(lag=0, atomic=True),
        guards=OFF,
    )


# False alarms


@case
def version_in_memory() -> Scenario:
    """A controller skips a version that it has seen."""

    class Skips(Controller):
        kind = W
        memory = ("seen",)
        seen = ""

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            version = w["metadata"]["resourceVersion"]
            if version == self.seen:
                return
            self.seen = version
            size = str(w["spec"]["size"])
            if not await made(api, cm("out", {"size": size})):
                await api.patch(cm("out"), merge_patch({"data": {"size": size}}))

    return Scenario(
        [Skips()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 2})],
        properties=[eventually(lambda cluster: data_of(cluster, "out").get("size") == "2", name="copied")],
        guards=OFF,
    )


@case
def version_in_an_annotation() -> Scenario:
    """A controller notes in a config map which version of the widget it has copied."""

    class Notes(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            version = w["metadata"]["resourceVersion"]
            note = cm("note", {"version": version})
            if await made(api, note):
                return
            there = await api.live.get(CM, "default/note")
            if there["data"]["version"] != version:
                await patched(api, there, data={"version": version})

    return Scenario([Notes()], crds=[CRD], objects=[WIDGET], actions=[update(WIDGET, spec={"size": 2})], guards=OFF)


@case
def version_in_an_annotation_of_the_object() -> Scenario:
    """A controller notes in an annotation which version of a config map it has used."""

    class Uses(Controller):
        kind = W
        watches = {CM: lambda _obj, _cache: ["default/w"]}  # noqa: RUF012

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            used = (await api.get(CM, "default/a"))["metadata"]["resourceVersion"]
            annotations = w["metadata"].get("annotations") or {}
            if annotations.get("used") != used:
                base = copy.deepcopy(w)
                w["metadata"]["annotations"] = {**annotations, "used": used}
                await api.patch(w, merge_from(base))

    return Scenario(
        [Uses()],
        crds=[CRD],
        objects=[WIDGET, cm("a", {"v": "0"})],
        actions=[update(cm("a"), data={"v": "1"})],
        bounds=Bounds(lag=0),
        guards=OFF,
    )


@case
def version_in_a_name() -> Scenario:
    """A controller makes one object for each version that it sees."""

    class Names(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            await made(api, cm("v" + w["metadata"]["resourceVersion"]))

    return Scenario(
        [Names()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 2})],
        properties=[never(lambda cluster: len(cluster.list(CM)) > 2, name="three")],
        bounds=Bounds(lag=1, concurrent=2),
        guards=OFF,
    )


@case
def generated_name_after_a_delete() -> Scenario:
    """A name that the server generates is not the name of an object that is gone."""

    class Replaces(Controller):
        kind = W
        memory = ("first",)
        first = ""

        async def reconcile(self, request: Request, api: Api) -> None:
            await api.get(W, request)
            if len(self.first) > 9:
                return
            child = cm("")
            child["metadata"] = {"generateName": "c-", "namespace": "default"}
            await api.create(child)
            if not self.first:
                self.first = child["metadata"]["name"]
                await api.delete(child)
                raise Conflict("again")
            if child["metadata"]["name"] == self.first:
                await made(api, cm("same"))
            self.first = "done: " + self.first

    return Scenario(
        [Replaces()],
        crds=[CRD],
        objects=[WIDGET],
        properties=[
            never(lambda cluster: any(each["metadata"]["name"] == "same" for each in cluster.list(CM)), name="same")
        ],
        bounds=Bounds(lag=0),
        guards=OFF,
    )


@case
def fresh_name_like_a_queued_one() -> Scenario:
    """A job with a fresh uuid for a name is not one that was deleted and is still queued."""

    class Jobs(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.live.get(W, request)
            if w["spec"]["size"] > 2:
                return
            job = cm("job-" + api.uuid())
            await api.create(job)
            if w["spec"]["size"] == 1:
                await api.delete(job)
            await patched(api, w, spec={"size": w["spec"]["size"] + 1})

    class Marks(Controller):
        kind = CM

        async def reconcile(self, request: Request, api: Api) -> None:
            with contextlib.suppress(NotFound):
                job = await api.get(CM, request)
                if not job.get("data"):
                    await patched(api, job, data={"done": "1"})

    return Scenario(
        [Jobs(), Marks()],
        crds=[CRD],
        objects=[WIDGET],
        properties=[
            eventually(lambda cluster: all(each.get("data") for each in cluster.list(CM)), name="done"),
            eventually(lambda cluster: bool(cluster.list(CM)), name="there"),
        ],
        bounds=Bounds(lag=0),
        guards=OFF,
    )


@case
def put_that_creates() -> Scenario:
    """Leases can be created by PUT, and each has a uid of its own."""

    class Leases(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            await api.get(W, request)
            for name in ("one", "two"):
                metadata = {"name": name, "namespace": "default"}
                lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": {}}
                with contextlib.suppress(ApiError):
                    await api.update(lease)

    def different(cluster: Cluster) -> bool:
        uids = [each["metadata"]["uid"] for each in cluster.list("Lease.coordination.k8s.io/v1")]
        return len(uids) == len(set(uids))

    return Scenario([Leases()], crds=[CRD], objects=[WIDGET], properties=[always(different)], guards=OFF)


@case
def cached_read_of_a_subresource() -> Scenario:
    """The scale of an object is a Scale, also when it is read without ``live``."""

    class Scales(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            scale = await api.get(W, request, subresource="scale")
            if scale["kind"] != "Scale":
                await made(api, cm("wrong"))
            elif scale["spec"]["replicas"] < 3:
                await api.scale(copy.deepcopy(WIDGET), 3)

    return Scenario(
        [Scales()],
        crds=[SCALED],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 2})],
        properties=[
            never(lambda cluster: bool(cluster.list(CM)), name="wrong"),
            eventually(lambda cluster: cluster.get(W, "w")["spec"]["size"] == 3, name="scaled"),
        ],
        guards=OFF,
    )


@case
def isomorphic_final_states() -> Scenario:
    """Final states that differ only in the uuids within names are the same."""

    class Makes(Controller):
        kind = W
        name = "a"

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            if self.name in (w.get("status") or {}):
                return
            job = cm("job-" + api.uuid(), {"by": self.name})
            await api.create(job)
            await api.status.patch(w, merge_patch({"status": {self.name: job["metadata"]["name"]}}))

    class MakesToo(Makes):
        name = "b"

    return Scenario([Makes(), MakesToo()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0), guards=OFF)


@case
def atomic_with_a_read_after_a_write() -> Scenario:
    """A reconcile that reads its cache after a write, as one step: no run is undisturbed."""

    class Writes(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            w = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": dict(WIDGET["metadata"])}
            await api.patch(w, merge_patch({"spec": {"on": True}}))
            await api.get(W, request)

    return Scenario([Writes()], crds=[CRD], objects=[WIDGET], bounds=Bounds(atomic=True), guards=OFF)


@case
def asyncio_gather() -> Scenario:
    """Two calls at the same time."""

    class Gathers(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            w, _ = await asyncio.gather(api.live.get(W, request), api.live.list(CM))
            if not w.get("status"):
                await asyncio.gather(made(api, cm("a")), made(api, cm("b")))
                base = copy.deepcopy(w)
                w["status"] = {"done": True}
                await api.status.patch(w, merge_from(base))

    def a_first(before: Cluster, after: Cluster) -> bool:
        del before
        names = {each["metadata"]["name"] for each in after.list(CM)}
        return names != {"b"}

    return Scenario(
        [Gathers()], crds=[CRD], objects=[WIDGET], properties=[always(a_first)], bounds=Bounds(lag=0), guards=OFF
    )


@case
def asyncio_timeouts() -> Scenario:
    """Sleeping and waiting in virtual time."""

    class Waits(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await asyncio.wait_for(api.get(W, request), timeout=5)
            await asyncio.sleep(0.5)
            try:
                async with asyncio.timeout(1):
                    await asyncio.sleep(2)
            except TimeoutError:
                if not w.get("status"):
                    base = copy.deepcopy(w)
                    w["status"] = {"late": True}
                    await api.status.patch(w, merge_from(base))

    return Scenario(
        [Waits()],
        crds=[CRD],
        objects=[WIDGET],
        properties=[eventually(lambda cluster: bool(cluster.get(W, "w").get("status")), name="late")],
        guards=OFF,
    )


@case
def definition_and_then_an_object() -> Scenario:
    """A controller creates a definition and then an object of it."""

    class Defines(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            await api.get(W, request)
            await made(api, copy.deepcopy(definition("Gadget")))
            gadget = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {}}
            await made(api, gadget)

    return Scenario([Defines()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0), guards=OFF)


@case
def sometimes_and_never_within_a_step() -> Scenario:
    """With whole reconciles as steps, the cluster still passes through the states between their writes."""

    def there(cluster: Cluster) -> bool:
        return bool(cluster.list(CM))

    return Scenario(
        [_Flickers()],
        crds=[CRD],
        objects=[WIDGET],
        properties=[never(there), sometimes(there, name="is there")],
        bounds=Bounds(lag=0, atomic=True),
        guards=OFF,
    )


@case
def delete_all_of_within_a_step() -> Scenario:
    """A patch, then a delete of all: this once crashed the explorer."""

    class Clears(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            with contextlib.suppress(NotFound):
                w = await api.get(W, request)
                base = copy.deepcopy(w)
                w["metadata"].setdefault("labels", {})["l"] = "1"
                await api.patch(w, merge_from(base))
                await api.delete_all_of(W, namespace="default")

    return Scenario(
        [Clears()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, metadata={"labels": {"a": "1"}})],
        bounds=Bounds(lag=1, atomic=True),
        guards=OFF,
    )


@case
def own_delete_is_hidden() -> Scenario:
    """With the guard on a reconcile does not see what it deleted, and waits for nothing."""

    class Deletes(Controller):
        kind = CM
        memory = ("saw",)
        saw = False

        async def reconcile(self, request: Request, api: Api) -> None:
            try:
                await api.delete(await api.get(CM, request))
                await api.get(CM, request)
            except (NotFound, Conflict):
                return
            self.saw = True
            await made(api, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "saw"}})

    return Scenario(
        [Deletes()],
        objects=[cm("a", {"a": "1"})],
        actions=[update(cm("a"), data={"a": "2"})],
        properties=[never(lambda cluster: bool(cluster.list("Secret/v1")), name="saw")],
        bounds=Bounds(lag=2),
        guards=ON,
    )


@case
def result_that_looks_again() -> Scenario:
    """A timer that comes round without a write is rest."""

    class Looks(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> Result:
            await api.get(W, Key(*request))
            return Result(requeue_after=5)

    return Scenario([Looks()], crds=[CRD], objects=[WIDGET], guards=OFF)


def main() -> int:
    """Print for each case, and each way to explore it, whether the explorer and the oracle agree."""
    chosen = sys.argv[1:] or list(CASES)
    wrong = 0
    for name in chosen:
        answer = expected(CASES[name]())
        found = answer.findings
        said = f"{found.states} states, {len(found.ends)} final, {sorted(found.violations) or 'holds'}"
        print(f"{name}: {said}{' (endless)' if answer.endless else ''}")  # noqa: T201
        for way in WAYS:
            try:
                points = differences(answer, explored(CASES[name](), way, worlds=30_000))
            except Exception as error:
                points = [f"{type(error).__name__}: {error}"]
            wrong += bool(points)
            print(f"  {way}: {'agree' if not points else '; '.join(points)[:400]}")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
