"""False alarms about requests and steps: subresources, asyncio, definitions, whole reconciles."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from dataclasses import replace
from typing import ClassVar

from definitions import definition
from explore.oracle.cases.common import (
    CM,
    CRD,
    OFF,
    ON,
    SCALED,
    WIDGET,
    Flickers,
    W,
    case,
    cm,
    made,
)
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, always, create, eventually, never, sometimes, update
from kontend.kube.errors import ApiError, Conflict, NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from, merge_patch
from kontend.runtime.controller import Controller, Mapper, Request, Result


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
        uids = [obj["metadata"]["uid"] for obj in cluster.list("Lease.coordination.k8s.io/v1")]
        return len(uids) == len(set(uids))

    return Scenario([Leases()], crds=[CRD], objects=[WIDGET], properties=[always(different)], guards=OFF)


@case
def whole_reconcile_that_reads_another_object() -> Scenario:
    """A read of an object that was not changed is not stale, whatever else the cache has not seen."""

    class Makes(Controller):
        kind = W
        watches: ClassVar[dict[str, Mapper]] = {CM: lambda _obj, _cache: []}

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            if not w["metadata"].get("labels"):
                await made(api, cm("one", {"a": "1"}))
            with contextlib.suppress(NotFound):
                await api.get(CM, "default/two")

    labels = {"l": "1"}
    return Scenario(
        [Makes()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, metadata={"labels": labels})],
        bounds=Bounds(atomic=True, faults=0),
        guards=OFF,
    )


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

    return Scenario([Makes(), MakesToo()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0), guards=OFF)


@case
def atomic_with_a_read_after_a_write() -> Scenario:
    """A reconcile that reads its cache after a write, as one step, cannot see the write: that perturbs nothing."""
    return _atomic(_WritesAndReads())


@case
def atomic_with_a_read_after_a_write_beside_retries() -> Scenario:
    """The same beside a controller that looks again for ever: it is not all that an unperturbed run does."""

    class LooksAgain(Controller):
        kind = W
        name = "looks-again"

        async def reconcile(self, request: Request, api: Api) -> Result:
            del request, api
            return Result(requeue=True)

    return _atomic(LooksAgain(), _WritesAndReads())


@case
def atomic_with_a_stale_list_after_a_write() -> Scenario:
    """A list that misses an own write and one of the user, who acts before: the latter perturbs."""

    class Counts(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            del request
            w = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": dict(WIDGET["metadata"])}
            await api.patch(w, merge_patch({"spec": {"on": True}}))
            seen = sum("big" in (widget.get("spec") or {}) for widget in (await api.list(W)))
            await api.patch(w, merge_patch({"metadata": {"labels": {"big": str(seen)}}}))

    return replace(_atomic(Counts()), actions=[update(WIDGET, spec={"big": True})])


class _WritesAndReads(Controller):
    kind = W
    name = "writes"

    async def reconcile(self, request: Request, api: Api) -> None:
        w = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": dict(WIDGET["metadata"])}
        await api.patch(w, merge_patch({"spec": {"on": True}}))
        await api.get(W, request)


def _atomic(*controllers: Controller) -> Scenario:
    return Scenario(controllers, crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, atomic=True), guards=OFF)


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
        names = {config_map["metadata"]["name"] for config_map in after.list(CM)}
        return names != {"b"}

    return Scenario(
        [Gathers()],
        crds=[CRD],
        objects=[WIDGET],
        properties=[always(a_first)],
        bounds=Bounds(faults=0, lag=0),
        guards=OFF,
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

    return Scenario([Defines()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0), guards=OFF)


@case
def sometimes_and_never_within_a_step() -> Scenario:
    """With whole reconciles as steps, the cluster still passes through the states between their writes."""

    def there(cluster: Cluster) -> bool:
        return bool(cluster.list(CM))

    return Scenario(
        [Flickers()],
        crds=[CRD],
        objects=[WIDGET],
        properties=[never(there), sometimes(there, name="is there")],
        bounds=Bounds(faults=0, lag=0, atomic=True),
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
        bounds=Bounds(faults=0, lag=1, atomic=True),
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
        bounds=Bounds(faults=0, lag=2),
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


@case
def looking_again_is_one_of_two_ways_to_end() -> Scenario:
    """A run that looks again and again is as good an end as one that stops, if both are unperturbed."""

    late = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late", "namespace": "default"}}

    class Marks(Controller):
        kind = CM

        async def reconcile(self, request: Request, api: Api) -> Result | None:
            try:
                await api.patch(copy.deepcopy(late), merge_patch({"metadata": {"labels": {"seen": request.name}}}))
            except NotFound:
                return None
            return Result(requeue=True)

    return Scenario([Marks()], objects=[cm("a")], actions=[create(late)], bounds=Bounds(faults=0, lag=0), guards=OFF)


@case
def a_loop_that_another_run_leaves() -> Scenario:
    """One controller makes two objects whenever it sees two, and another deletes all: in one order that goes on."""

    class Makes(Controller):
        kind = W
        name = "makes"
        watches: ClassVar[dict[str, Mapper]] = {
            CM: lambda _, cache: [Key("default", "w")] if len(cache.list(CM)) > 1 else []
        }

        async def reconcile(self, request: Request, api: Api) -> None:
            del request
            for name in ("b", "out"):
                await api.create(cm(name))

    class Deletes(Controller):
        kind = CM
        name = "deletes"

        async def reconcile(self, request: Request, api: Api) -> None:
            del request
            await api.delete_all_of(CM, namespace="default")

    return Scenario([Makes(), Deletes()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0), guards=OFF)
