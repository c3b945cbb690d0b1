"""The explorer and the runtime mean the same: on one schedule a reconcile reads the same from both.

Each test runs a controller in an :class:`InProcessManager` whose feed is held, and again in the explorer along the
steps of the same schedule. The controller writes down what it read; both must have written the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import pytest

from definitions import definition
from kontend.cluster.cluster import Cluster
from kontend.explore import Action, Bounds, Scenario, assert_discovery, create, delete, never, update
from kontend.kube.errors import NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request
from kontend.runtime.guards import Guards
from kontend.runtime.manager.in_process import InProcessManager
from kontend.runtime.predicates import GenerationChanged

W: Final = "Widget.example.com/v1"
CM: Final = "ConfigMap/v1"
SECRET: Final = "Secret/v1"
WIDGET: Final[dict[str, Any]] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"size": 1},
}
LABELLED: Final = update(WIDGET, metadata={"labels": {"a": "1"}})
ON: Final = Guards(fencing=False)
OFF: Final = Guards(read_your_writes=False, delete_preconditions=False, monotonic_views=False, fencing=False)


def cm(name: str, value: str = "0") -> dict[str, Any]:
    """A config map."""
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"v": value}}


class Reads(Controller):
    """Writes down what it reads, in a secret for each run."""

    kind = W
    name = "reads"
    memory: ClassVar[Sequence[str]] = ("runs",)
    runs = 0

    async def reconcile(self, request: Request, api: Api) -> None:
        """Look, and write down."""
        assert request.name == "w"
        seen = await self.look(api)
        self.runs += 1
        metadata = {"name": f"run-{self.runs}", "namespace": "default", "annotations": {"seen": seen}}
        await api.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})

    async def look(self, api: Api) -> str:
        """Read something and return it as text."""
        raise NotImplementedError


async def value(api: Api, name: str = "a") -> str:
    """The value in a config map as the cache has it."""
    try:
        return str((await api.get(CM, f"default/{name}"))["data"]["v"])
    except NotFound:
        return "none"


async def names(api: Api) -> str:
    """The names of the config maps that the cache has."""
    return " ".join(obj["metadata"]["name"] for obj in await api.list(CM, namespace="default")) or "none"


class Undeclared(Reads):
    """Reads a kind that it does not declare."""

    name = "reads"

    async def look(self, api: Api) -> str:
        """Read it."""
        return await value(api)


class AnotherVersion(Reads):
    """Reads its own kind at another version."""

    name = "reads"

    async def look(self, api: Api) -> str:
        """Read it."""
        return str((await api.get("Widget.example.com/v2", "default/w"))["spec"]["size"])


class Creates(Reads):
    """Lists what it has created."""

    name = "reads"
    watches: ClassVar[dict[str, Any]] = {CM: lambda _obj, _cache: []}

    async def look(self, api: Api) -> str:
        """Create, and list."""
        await api.create(cm("b"))
        return await names(api)


class Deletes(Reads):
    """Reads what it has deleted."""

    name = "reads"
    watches: ClassVar[dict[str, Any]] = {CM: lambda _obj, _cache: []}

    async def look(self, api: Api) -> str:
        """Delete, and read twice."""
        await api.delete(await api.get(CM, "default/a"))
        return f"{await value(api)}, {await names(api)}"


class DeletesAll(Reads):
    """Reads what it has deleted with everything else."""

    name = "reads"
    watches: ClassVar[dict[str, Any]] = {CM: lambda _obj, _cache: []}

    async def look(self, api: Api) -> str:
        """Delete, and read twice."""
        await api.delete_all_of(CM, namespace="default")
        return f"{await value(api)}, {await names(api)}"


class DeletesUndeclared(Deletes):
    """The same for a kind that it does not declare."""

    name = "reads"
    watches: ClassVar[dict[str, Any]] = {}


class Uids(Reads):
    """Runs when a config map changes its generation, of which it has none."""

    name = "reads"
    watches: ClassVar[dict[str, Any]] = {CM: lambda _obj, _cache: ["default/w"]}
    predicates: ClassVar[dict[str, Any]] = {CM: GenerationChanged()}

    async def look(self, api: Api) -> str:
        """Read it."""
        return await value(api)


CRD: Final = definition("Widget")
CRD["spec"]["versions"].append({**CRD["spec"]["versions"][0], "name": "v2", "storage": False})
CHANGED: Final = update(cm("a"), data={"v": "1"})
RESIZED: Final = update(WIDGET, spec={"size": 2})
DELETED: Final = delete(cm("a"))
CREATED: Final = create(cm("a", "2"))
START: Final = "reads starts default/w"
GET: Final = "reads: cached get ConfigMap/v1 default/a"
LIST: Final = "reads: cached list ConfigMap/v1 in default"
NOTE: Final = "reads: create Secret/v1 in default"


def written(cluster: Cluster) -> list[str]:
    """The observations of the controller, run after run."""
    return [str(secret["metadata"]["annotations"]["seen"]) for secret in cluster.list(SECRET)]


class Managed:
    """A controller in a manager, one step of the schedule after the other."""

    def __init__(self, controller: Reads, *, guards: Guards = ON) -> None:
        self.cluster = Cluster(crds=[CRD], objects=[WIDGET, cm("a")], manager="user")
        self.manager = InProcessManager(self.cluster, [controller], guards=guards)
        self.manager.poll()

    def hold(self, *kinds: str) -> Managed:
        """Keep the events of some kinds away from the cache."""
        self.manager.feed.held |= set(kinds)
        return self

    def act(self, *actions: Action) -> Managed:
        """Let the user act."""
        for action in actions:
            action.perform(self.cluster)
        return self

    def run(self) -> Managed:
        """Run a reconcile."""
        assert self.manager.step() is not None
        return self

    def relist(self, kind: str) -> Managed:
        """Let the cache list a kind again, and see what it had missed as one event for each object."""
        self.manager.feed.relist(kind)
        return self

    @property
    def idle(self) -> bool:
        """Nothing is queued once everything that is not held was delivered."""
        self.manager.poll()
        return all(not len(loop.queue) for loop in self.manager.loops)

    @property
    def written(self) -> list[str]:
        """The observations of the controller."""
        return written(self.cluster)


def explored(
    controller: Reads, seen: list[str], trace: Sequence[str], *, actions: Sequence[Action] = (), guards: Guards = ON
) -> None:
    """Fail unless the explorer can take these steps and the controller has then written down the same."""

    def seen_that(cluster: Cluster) -> bool:
        return written(cluster) == seen

    scenario = Scenario(
        [controller],
        crds=[CRD],
        objects=[WIDGET, cm("a")],
        actions=actions,
        properties=[never(seen_that)],
        bounds=Bounds(faults=0, lag=2),
        guards=guards,
    )
    assert_discovery(scenario, "seen_that", trace)


def test_an_undeclared_kind_is_cached_from_the_first_read_on_and_lags() -> None:
    run = Managed(Undeclared()).run().hold(CM).act(CHANGED, LABELLED).run()
    assert run.written == ["0", "0"]
    trace = [
        START,
        GET,
        NOTE,
        "the user changes ConfigMap default/a: data",
        "the user changes Widget default/w: metadata",
    ]
    trace += ["reads sees MODIFIED Widget default/w", START, f"{GET} (stale)", NOTE]
    explored(Undeclared(), run.written, trace, actions=[CHANGED, LABELLED])


def test_the_first_read_of_an_undeclared_kind_is_up_to_date() -> None:
    run = Managed(Undeclared()).hold(CM).act(CHANGED).run()
    assert run.written == ["1"]
    explored(
        Undeclared(), run.written, ["the user changes ConfigMap default/a: data", START, GET, NOTE], actions=[CHANGED]
    )


def test_another_version_of_the_kind_has_a_cache_of_its_own() -> None:
    other = "Widget.example.com/v2"
    run = Managed(AnotherVersion()).run().hold(other).act(RESIZED).run()
    assert run.written == ["1", "1"]
    get = f"reads: cached get {other} default/w"
    trace = [START, get, NOTE, "the user changes Widget default/w: spec", "reads sees MODIFIED Widget default/w"]
    explored(AnotherVersion(), run.written, [*trace, START, f"{get} (stale)", NOTE], actions=[RESIZED])


def test_a_read_waits_for_an_own_write() -> None:
    run = Managed(Creates()).hold(CM).run()
    assert run.written == ["a b"]
    trace = [START, "reads: create ConfigMap/v1 in default", "reads sees ADDED ConfigMap default/b", LIST, NOTE]
    explored(Creates(), run.written, trace)
    with pytest.raises(AssertionError, match="is not enabled"):
        explored(Creates(), ["a"], [*trace[:2], f"{LIST} (stale)", NOTE])


def test_without_the_guard_a_read_does_not_wait() -> None:
    run = Managed(Creates(), guards=OFF).hold(CM).run()
    assert run.written == ["a"]
    trace = [START, "reads: create ConfigMap/v1 in default", f"{LIST} (stale)", NOTE]
    explored(Creates(), run.written, trace, guards=OFF)


@pytest.mark.parametrize("controller", [Deletes, DeletesUndeclared])
def test_an_own_delete_is_hidden_and_not_waited_for(controller: type[Reads]) -> None:
    run = Managed(controller()).hold(CM).run()
    assert run.written == ["none, none"]
    trace = [START, GET, "reads: delete ConfigMap/v1 default/a", f"{GET}: not found (stale)", f"{LIST} (stale)", NOTE]
    explored(controller(), run.written, trace)


def test_without_the_guard_an_own_delete_is_still_shown() -> None:
    run = Managed(Deletes(), guards=OFF).hold(CM).run()
    assert run.written == ["0, a"]
    trace = [START, GET, "reads: delete ConfigMap/v1 default/a", f"{GET} (stale)", f"{LIST} (stale)", NOTE]
    explored(Deletes(), run.written, trace, guards=OFF)


def test_what_delete_all_of_deleted_is_still_shown() -> None:
    run = Managed(DeletesAll()).hold(CM).run()
    assert run.written == ["0, a"]
    trace = [START, "reads: deletecollection ConfigMap/v1 in default", f"{GET} (stale)", f"{LIST} (stale)", NOTE]
    explored(DeletesAll(), run.written, trace)


FIRST_RUN: Final = [START, GET, NOTE]
RECREATED: Final = ["the user deletes ConfigMap default/a", "the user creates ConfigMap default/a"]


def test_a_delete_and_a_create_that_are_seen_as_two_events_pass_a_generation_predicate() -> None:
    run = Managed(Uids()).run().act(DELETED, CREATED).run()
    assert run.written == ["0", "2"]
    trace = [*FIRST_RUN, *RECREATED, "reads sees DELETED ConfigMap default/a", "reads sees ADDED ConfigMap default/a"]
    explored(Uids(), run.written, [*trace, START, GET, NOTE], actions=[DELETED, CREATED])


def test_a_relist_shows_a_delete_and_a_create_as_one_update_that_a_generation_predicate_drops() -> None:
    run = Managed(Uids()).run().hold(CM).act(DELETED, CREATED).relist(CM)
    assert run.idle
    assert run.written == ["0"]
    trace = [*FIRST_RUN, *RECREATED, "reads lists ConfigMap again: reads sees MODIFIED ConfigMap default/a"]
    explored(Uids(), run.written, trace, actions=[DELETED, CREATED])
    with pytest.raises(AssertionError, match=r"is not enabled. Enabled here: nothing"):
        explored(Uids(), run.written, [*trace, START], actions=[DELETED, CREATED])
