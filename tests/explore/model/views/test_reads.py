"""Cached reads: undeclared kinds, other versions of a kind, own writes and own deletes."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest

from explore.samples import DEPLOYMENT
from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, Verdict, check, never, update
from kontend.explore.model.model import Model
from kontend.explore.model.state.process import OwnWrite
from kontend.explore.model.step import Step
from kontend.explore.model.views.reads import Reads
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import Call
from kontend.runtime.client.patches import merge_patch
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.guards import Guards

MAP = "ConfigMap/v1"
GUARDED = Guards(delete_preconditions=False, locked_status=False, fencing=False)


def _map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _labels(obj: dict[str, Any], *values: str) -> list[Any]:
    return [update(obj, metadata={"labels": {"v": value}}) for value in values]


def _label(obj: dict[str, Any]) -> str:
    return str((obj["metadata"].get("labels") or {}).get("v", "0"))


def _logs(scenario: Scenario) -> set[str]:
    verdict = check(scenario)
    assert verdict.exhausted
    return {_log(Cluster(state=state)) for state in verdict.final_states}


def _log(cluster: Cluster) -> str:
    return str((cluster.get(KIND, "w").get("status") or {}).get("log", ""))


# Undeclared kinds


class ReadsMap(Controller):
    """Reads a config map, which is not declared, in each of up to two runs."""

    kind = KIND
    memory = ("log",)
    log = ""

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Read both, and log the label of the map."""
        await api.get(self.kind, request)
        if len(self.log) < 2:
            self.log += _label(await api.get(MAP, "default/a"))
            return Result(requeue=True)
        widget = await api.live.get(self.kind, request)
        if not widget.get("status"):
            await api.status.patch(widget, merge_patch({"status": {"log": self.log}}))
        return Result()


@pytest.mark.parametrize(("lag", "logs"), [(0, {"00", "01", "11"}), (1, {"00", "01", "11"})])
def test_an_undeclared_kind_is_cached_from_the_first_read(lag: int, logs: set[str]) -> None:
    scenario = Scenario(
        [ReadsMap()], crds=[CRD], objects=[WIDGET, _map("a")], actions=_labels(_map("a"), "1"),
        bounds=Bounds(faults=0, lag=lag), guards=UNGUARDED,
    )  # fmt: skip
    assert _logs(scenario) == logs


def _reading_map(lag: int) -> tuple[Model, Any]:
    scenario = Scenario(
        [ReadsMap()], crds=[CRD], objects=[WIDGET, _map("a")], actions=_labels(_map("a"), "1"),
        bounds=Bounds(faults=0, lag=lag), guards=UNGUARDED,
    )  # fmt: skip
    model = Model(scenario)
    return model, model.initial()


CALL, START, ACT = Step("call", 0, Key("default", "w")), Step("start", 0, Key("default", "w")), Step("act")


def test_the_first_read_of_an_undeclared_kind_lists_it_from_the_server() -> None:
    model, world = _reading_map(1)
    world = model.next(world, ACT).world
    assert Step("deliver", 0, MAP) not in model.steps(world)
    for step in (START, CALL, CALL):
        transition = model.next(world, step)
        world = transition.world
    assert (transition.cost, "stale" in transition.line) == (0, False)
    assert b'"log":"1"' in world.instances[0].memory


def test_later_reads_of_an_undeclared_kind_lag() -> None:
    model, world = _reading_map(1)
    retry = Step("retry", 0, Key("default", "w"))
    for step in (START, CALL, CALL, ACT):
        world = model.next(world, step).world
    assert Step("deliver", 0, MAP) in model.steps(world)
    for step in (retry, START, CALL, CALL):
        transition = model.next(world, step)
        world = transition.world
    assert transition.line.endswith("cached get ConfigMap/v1 default/a (stale)")
    assert transition.cost == 1
    assert b'"log":"00"' in world.instances[0].memory


def test_events_of_an_undeclared_kind_enqueue_nothing() -> None:
    model, world = _reading_map(1)
    for step in (START, CALL, CALL, ACT):
        world = model.next(world, step).world
    queue = world.instances[0].queue
    assert model.next(world, Step("deliver", 0, MAP)).world.instances[0].queue == queue


class Combines(Controller):
    """Reads a config map, which is not declared, and then the widget, and stores both labels."""

    kind = KIND
    name = "combines"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create an object named after both."""
        old = _label(await api.get(MAP, "default/a"))
        widget = await api.get(self.kind, request)
        try:
            await api.create(_map(f"seen-{old}-{_label(widget)}"))
        except AlreadyExists:
            return


def _old_map_with_new_widget(cluster: Cluster) -> bool:
    return any(item["metadata"]["name"] == "seen-0-1" for item in cluster.list(MAP))


@pytest.mark.parametrize("lag", [0, 1])
def test_a_stale_undeclared_read_with_a_fresh_declared_one_is_explored(lag: int) -> None:
    scenario = Scenario(
        [Combines()],
        crds=[CRD],
        objects=[WIDGET, _map("a")],
        actions=[*_labels(_map("a"), "1"), *_labels(WIDGET, "1")],
        properties=[never(_old_map_with_new_widget)],
        bounds=Bounds(faults=0, lag=lag),
        guards=UNGUARDED,
    )
    assert "_old_map_with_new_widget" in {violation.property for violation in check(scenario).violations}


# Another version of a declared kind


def _two_versions() -> dict[str, Any]:
    crd = copy.deepcopy(CRD)
    crd["spec"]["versions"].append({**copy.deepcopy(crd["spec"]["versions"][0]), "name": "v2", "storage": False})
    return crd


class ReadsBoth(Controller):
    """Reads a widget by two versions of its kind, which have a view each."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Log the labels of both reads, twice."""
        log = ""
        for _ in range(2):
            log += _label(await api.get("Widget.example.com/v2", request)) + _label(await api.get(self.kind, request))
        widget = await api.live.get(self.kind, request)
        if not widget.get("status"):
            await api.status.patch(widget, merge_patch({"status": {"log": log}}))


def test_another_version_of_a_declared_kind_has_a_view_of_its_own() -> None:
    scenario = Scenario(
        [ReadsBoth()], crds=[_two_versions()], objects=[WIDGET], actions=_labels(WIDGET, "1"),
        bounds=Bounds(faults=0, lag=1), guards=UNGUARDED,
    )  # fmt: skip
    logs = _logs(scenario)
    assert {"0000", "1111", "0111", "0001", "0010", "1010"} <= logs
    # No view goes back.
    assert not {log for log in logs if log[0] > log[2] or log[1] > log[3]}


# Own writes


class WritesAndReads(Controller):
    """Writes, and reads the object and the list of all from the cache."""

    kind = KIND
    owns = (MAP,)
    deletes = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create or delete a config map, and log what the cache shows then."""
        widget = await api.get(self.kind, request)
        if widget.get("status"):
            return
        if self.deletes:
            await api.delete(_map("a"))
        else:
            await api.create(_map("b"))
        names = "".join(item["metadata"]["name"] for item in await api.list(MAP, namespace="default"))
        try:
            await api.get(MAP, "default/a" if self.deletes else "default/b")
            names += "!"
        except NotFound:
            names += "?"
        await api.status.patch(widget, merge_patch({"status": {"log": names}}))


class DeletesAndReads(WritesAndReads):
    """The same with a delete."""

    deletes = True


@pytest.mark.parametrize(
    ("controller", "guards", "atomic", "logs"),
    [
        (WritesAndReads, GUARDED, False, {"ab!"}),
        (WritesAndReads, GUARDED, True, {"ab!"}),
        (WritesAndReads, UNGUARDED, False, {"a?", "a!", "ab!"}),
        (WritesAndReads, UNGUARDED, True, {"a?"}),
        (DeletesAndReads, GUARDED, False, {"?"}),
        (DeletesAndReads, GUARDED, True, {"?"}),
        (DeletesAndReads, UNGUARDED, False, {"a!", "a?", "?"}),
        (DeletesAndReads, UNGUARDED, True, {"a!"}),
    ],
)
def test_read_your_writes_shows_own_writes_and_hides_own_deletes(
    controller: type[Controller], guards: Guards, atomic: bool, logs: set[str]
) -> None:
    bounds = Bounds(faults=0, lag=1, atomic=atomic)
    scenario = Scenario([controller()], crds=[CRD], objects=[WIDGET, _map("a")], bounds=bounds, guards=guards)
    assert _logs(scenario) == logs


class ReplacesAndReads(Controller):
    """Deletes an object and creates another one of its name."""

    kind = KIND
    owns = (MAP,)

    async def reconcile(self, request: Request, api: Api) -> None:
        """Replace the config map, and log the data that the cache shows."""
        widget = await api.get(self.kind, request)
        if widget.get("status"):
            return
        await api.delete(_map("a"))
        await api.create(_map("a", new="1"))
        config_map = await api.get(MAP, "default/a")
        await api.status.patch(widget, merge_patch({"status": {"log": "".join(config_map.get("data") or {"old": ""})}}))


def test_an_own_delete_hides_only_the_object_that_was_deleted() -> None:
    scenario = Scenario(
        [ReplacesAndReads()], crds=[CRD], objects=[WIDGET, _map("a")], bounds=Bounds(faults=0, lag=2), guards=GUARDED
    )
    assert _logs(scenario) == {"new"}


class ReadsLive(Controller):
    """Changes a widget and reads it from the server."""

    kind = KIND
    name = "live"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Set the status, and read it back."""
        widget = await api.get(self.kind, request)
        await api.status.patch(widget, merge_patch({"status": {"log": "1"}}))
        await api.live.get(self.kind, request)


def test_a_live_read_does_not_wait_for_the_event_of_an_own_write() -> None:
    scenario = Scenario([ReadsLive()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=1), guards=GUARDED)
    model = Model(scenario)
    world, key = model.initial(), Key("default", "w")
    for step in (Step("start", 0, key), *[Step("call", 0, key)] * 3):
        assert step in model.steps(world)
        world = model.next(world, step).world
    assert len(world.undelivered(0, 0, model.layout.resources[0][0])) == 1


class DeletesAll(Controller):
    """Deletes a collection, which the guard does not remember."""

    kind = KIND
    owns = (MAP,)

    async def reconcile(self, request: Request, api: Api) -> None:
        """Delete all, and log what the cache shows."""
        widget = await api.get(self.kind, request)
        if widget.get("status"):
            return
        await api.delete_all_of(MAP, namespace="default")
        names = "".join(item["metadata"]["name"] for item in await api.list(MAP, namespace="default"))
        await api.status.patch(widget, merge_patch({"status": {"log": f"{names}."}}))


def test_a_deleted_collection_is_shown_until_its_events_are_delivered() -> None:
    scenario = Scenario(
        [DeletesAll()], crds=[CRD], objects=[WIDGET, _map("a")], bounds=Bounds(faults=0, lag=1), guards=GUARDED
    )
    assert _logs(scenario) == {"a.", "."}


# Subresources


class Scales(Controller):
    """Reads a subresource through the cached client, which asks the server."""

    kind = "Deployment.apps/v1"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Store the kind and the replicas of the scale."""
        scale = await api.get(self.kind, request, subresource="scale")
        try:
            await api.create(_map("scale", kind=scale["kind"], replicas=str(scale["spec"]["replicas"])))
        except AlreadyExists:
            return


def test_a_subresource_is_answered_by_the_server() -> None:
    verdict = check(Scenario([Scales()], objects=[DEPLOYMENT], bounds=Bounds(faults=0, lag=1), guards=UNGUARDED))
    assert _ok(verdict)
    (final,) = verdict.final_states
    assert Cluster(state=final).get(MAP, "scale")["data"] == {"kind": "Scale", "replicas": "1"}


def _ok(verdict: Verdict) -> bool:
    return verdict.exhausted and not verdict.violations


# One read at a time


def _reads() -> tuple[Reads, Model]:
    model = Model(Scenario([Combines()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0), guards=GUARDED))
    return Reads(model.layout, model.mechanics.delivery), model


OWN = Key("default", "w")


@pytest.mark.parametrize(
    ("write", "call", "waits"),
    [
        (OwnWrite(KIND, OWN, 9), Call("get", KIND, "default", "w", cached=True), True),
        (OwnWrite(KIND, OWN, 9), Call("get", KIND, "default", "other", cached=True), False),
        (OwnWrite(KIND, OWN, 9), Call("list", KIND, "default", cached=True), True),
        (OwnWrite(KIND, OWN, 9), Call("list", KIND, cached=True), True),
        (OwnWrite(KIND, OWN, 9), Call("list", KIND, "elsewhere", cached=True), False),
        (OwnWrite(MAP, OWN, 9), Call("get", KIND, "default", "w", cached=True), False),
        (OwnWrite(KIND, OWN, 9, uid="u"), Call("get", KIND, "default", "w", cached=True), False),
        (OwnWrite(KIND, OWN, 9), Call("get", KIND, "default", "w"), False),
        (OwnWrite(MAP, OWN, 9), Call("get", MAP, "default", "w", cached=True), False),
    ],
    ids=[
        "the object", "another object", "its namespace", "all namespaces", "another namespace", "another kind",
        "an own delete is hidden", "a live read", "a kind without a view",
    ],
)  # fmt: skip
def test_a_cached_read_waits_for_own_writes_of_what_it_reads(write: OwnWrite, call: Call, waits: bool) -> None:
    reads, model = _reads()
    process = model.initial().processes[0]
    assert reads.must_wait(process, 0, call) is False
    assert reads.must_wait(process.changed(own=(write,)), 0, call) is waits


def test_a_read_of_a_kind_that_is_not_served_finds_nothing_and_starts_no_view() -> None:
    reads, model = _reads()
    world = model.next(model.initial(), START).world
    (in_flight,) = world.instances[0].running
    outcome, after = reads.read(world, 0, in_flight, Call("get", "Gadget.example.com/v1", "default", "g", cached=True))
    assert (outcome.key, outcome.answer.is_stale, outcome.answer.text) == (("404",), False, "not found")
    assert outcome.response().startswith(b"!")
    assert orjson.loads(outcome.response()[1:])["code"] == 404
    assert after is world


@pytest.mark.parametrize(
    ("namespace", "labels", "stale"), [("", ["0", "0"], True), ("default", ["0"], False), ("far", ["0"], True)]
)
def test_a_list_shows_its_namespace_and_is_stale_only_by_events_in_it(
    namespace: str, labels: list[str], stale: bool
) -> None:
    far: dict[str, Any] = {**WIDGET, "metadata": {"name": "w", "namespace": "far"}}
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "far"}}
    scenario = Scenario(
        [Combines()], crds=[CRD], objects=[place, WIDGET, far], actions=_labels(far, "1"), bounds=Bounds(faults=0)
    )
    model = Model(scenario)
    world = model.next(model.next(model.initial(), START).world, ACT).world
    (in_flight,) = world.instances[0].running
    call = Call("list", KIND, namespace, cached=True)
    outcome, _ = Reads(model.layout, model.mechanics.delivery).read(world, 0, in_flight, call)
    items = orjson.loads(outcome.response()[1:])["items"]
    assert [_label(item) for item in items] == labels
    assert {item["metadata"]["namespace"] for item in items} == ({namespace} if namespace else {"default", "far"})
    assert outcome.answer.is_stale is stale
