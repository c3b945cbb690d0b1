"""False alarms about versions and names: in memory, in annotations, in names, and generated again."""

from __future__ import annotations

import contextlib
import copy

from explore.oracle.cases.common import (
    CM,
    CRD,
    OFF,
    WIDGET,
    W,
    case,
    cm,
    data_of,
    made,
    patched,
)
from kontend.explore import Bounds, Scenario, eventually, never, update
from kontend.kube.errors import Conflict, NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from, merge_patch
from kontend.runtime.controller import Controller, Request


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
        bounds=Bounds(faults=0, lag=0),
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
        bounds=Bounds(faults=0, lag=1, concurrent=2),
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
            never(
                lambda cluster: any(config_map["metadata"]["name"] == "same" for config_map in cluster.list(CM)),
                name="same",
            )
        ],
        bounds=Bounds(faults=0, lag=0),
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
            eventually(lambda cluster: all(config_map.get("data") for config_map in cluster.list(CM)), name="done"),
            eventually(lambda cluster: bool(cluster.list(CM)), name="there"),
        ],
        bounds=Bounds(faults=0, lag=0),
        guards=OFF,
    )
