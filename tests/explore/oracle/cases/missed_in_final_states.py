"""Violations that were missed: final states, generations, own writes and parts of uids."""

from __future__ import annotations

import contextlib
import copy

from explore.oracle.cases.common import (
    CM,
    CRD,
    OFF,
    ON,
    WIDGET,
    W,
    case,
    cm,
    data_of,
    made,
    patched,
)
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, create, delete, eventually, never, sometimes, update
from kontend.kube.errors import Conflict, NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request


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
        return any(entry["manager"] == "a" and entry.get("subresource") == "status" for entry in entries)

    return Scenario(
        [Sets(), SetsToo()],
        crds=[CRD],
        objects=[WIDGET],
        properties=[eventually(by_a)],
        bounds=Bounds(faults=0, lag=0),
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
        bounds=Bounds(faults=0, lag=0, atomic=atomic),
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
        bounds=Bounds(faults=0, lag=0),
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
            never(
                lambda cluster: any(config_map["metadata"]["name"] == "stale" for config_map in cluster.list(CM)),
                name="stale",
            )
        ],
        bounds=Bounds(faults=0, lag=1, atomic=atomic),
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
        bounds=Bounds(faults=0, lag=0, atomic=True),
        guards=OFF,
    )


@case
def part_of_a_uid_or_a_word() -> Scenario:
    """A final state with a word in the place of a uid's part is another one."""

    class Notes(Controller):
        kind = CM

        async def reconcile(self, request: Request, api: Api) -> None:
            try:
                await api.get(CM, request)
            except NotFound:
                return
            try:
                part = (await api.live.get(CM, Request("default", "a")))["metadata"]["uid"][:4]
            except NotFound:
                part = "none"
            await made(api, cm("out", {"part": part}))

    return Scenario(
        [Notes()],
        objects=[cm("a")],
        actions=[delete(cm("a"))],
        bounds=Bounds(faults=0, lag=0),
        guards=OFF,
    )


@case
def eventually_beside_a_part_that_fails_forever() -> Scenario:
    """Two widgets have nothing to do with each other; the reconcile of one fails again and again."""

    class Children(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            try:
                await api.get(W, request)
            except NotFound:
                return
            await api.create(cm(f"out-{request.name}"))

    other = copy.deepcopy(WIDGET)
    other["metadata"]["name"] = "v"
    return Scenario(
        [Children()],
        crds=[CRD],
        objects=[WIDGET, other],
        actions=[delete(other)],
        properties=[eventually(lambda cluster: bool(cluster.get(W, "w").get("status")), name="has a status")],
        bounds=Bounds(faults=0, lag=0, concurrent=2, atomic=True),
        guards=OFF,
    )
