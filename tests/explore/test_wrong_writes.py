"""What is wrong with one write is found without being asked for."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from kontend.explore.UNKNOWN import Node

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import Action, Bounds, Scenario, Verdict, check, create, delete, update
from kontend.explore.model.world import InFlight, MetVersion
from kontend.explore.properties.writes import violations_of_writes
from kontend.explore.search.breadth_first import BreadthFirst
from kontend.kube.errors import NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import Call
from kontend.runtime.client.patches import merge_from, merge_patch
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.guards import Guards
from kontend.runtime.writes.conditions import condition, patch_conditions
from kontend.runtime.writes.finalizers import add_finalizer
from kontend.runtime.writes.spec import mutate_spec


def _explored(*controllers: Controller, guards: Guards = UNGUARDED, lag: int = 1, **given: Any) -> Verdict:
    objects = given.pop("objects", [WIDGET])
    return check(Scenario(controllers, crds=[CRD], objects=objects, bounds=Bounds(lag=lag), guards=guards, **given))


def _sentences(verdict: Verdict) -> dict[str, str]:
    """The sentences of the properties that look at one write."""
    assert verdict.exhausted
    names = ("wrong object", "vanished element", "lost update", "observed generation")
    return {each.property: each.sentence for each in verdict.violations if each.property in names}


# Another object


class Expirer(Controller):
    """Deletes what is marked as expired."""

    kind = KIND
    name = "expirer"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read the cache, delete."""
        try:
            widget = await api.get(self.kind, request)
            if widget["spec"].get("expired"):
                await api.delete(widget)
        except NotFound:
            return


EXPIRED = {**WIDGET, "spec": {"expired": True}}
RECREATED: list[Action] = [delete(WIDGET), create(WIDGET)]


def test_a_delete_by_name_that_hits_the_next_object_of_that_name_is_found() -> None:
    verdict = _explored(Expirer(), objects=[EXPIRED], actions=RECREATED, lag=2)
    assert _sentences(verdict) == {
        "wrong object": "expirer deleted Widget default/w, but another one than it had read: that one is gone, "
        "and user has created this one under the same name since"
    }
    (story,) = [each.trace for each in verdict.violations if each.property == "wrong object"]
    assert story[-1] == "expirer: delete Widget.example.com/v1 default/w"


def test_a_delete_with_preconditions_never_hits_another_object() -> None:
    guards = Guards(fencing=False)
    verdict = _explored(Expirer(), objects=[EXPIRED], actions=RECREATED, lag=2, guards=guards)
    assert _sentences(verdict) == {}
    assert "deleted" not in str(verdict)


class Phases(Controller):
    """Tells how far a widget is."""

    kind = KIND
    name = "phases"
    lock = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, and write the phase that the spec asks for."""
        try:
            widget = await api.get(self.kind, request)
            base = copy.deepcopy(widget)
            widget["status"] = {"phase": widget["spec"].get("phase", "Ready")}
            if widget["status"] != base.get("status"):
                await api.status.patch(widget, merge_from(base, lock=self.lock))
        except NotFound:
            return


class LockedPhases(Phases):
    """The same with a lock."""

    lock = True


def test_a_write_to_the_next_object_of_that_name_is_found_and_is_no_lost_update() -> None:
    verdict = _explored(Phases(), actions=RECREATED, lag=2)
    assert _sentences(verdict) == {
        "wrong object": "phases wrote .status of Widget default/w, but another one than it had read: "
        "that one is gone, and user has created this one under the same name since"
    }


def test_a_locked_write_never_hits_another_object() -> None:
    assert _sentences(_explored(LockedPhases(), actions=RECREATED, lag=2)) == {}


# Vanished elements


class Web(Controller):
    """Wants to be asked before a widget goes."""

    kind = KIND
    name = "web"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Add a finalizer to the list that was read."""
        widget = await api.get(self.kind, request)
        mine, there = f"example.com/{self.name}", widget["metadata"].get("finalizers", [])
        if mine not in there:
            base = copy.deepcopy(widget)
            widget["metadata"]["finalizers"] = [*there, mine]
            await api.patch(widget, merge_from(base))


class Dns(Web):
    """So does this one."""

    name = "dns"


class CarefulWeb(Controller):
    """Adds the same finalizer with a lock."""

    kind = KIND
    name = "web"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Add a finalizer to what is there."""
        obj = await api.get(self.kind, request)
        await mutate_spec(api, obj, lambda widget: add_finalizer(widget, f"example.com/{self.name}"))


class CarefulDns(CarefulWeb):
    """So does this one."""

    name = "dns"


def test_a_finalizer_that_another_one_takes_away_is_a_vanished_element_and_not_also_a_lost_update() -> None:
    assert _sentences(_explored(Web(), Dns(), lag=0)) == {
        "vanished element": 'dns removed "example.com/web" from .metadata.finalizers of Widget default/w, '
        "but web had added it since dns had read the object, and nobody was told"
    }


def test_finalizers_that_are_added_with_a_lock_stay() -> None:
    assert _explored(CarefulWeb(), CarefulDns()).ok


class Ready(Controller):
    """Keeps a condition in the list of all."""

    kind = KIND
    name = "ready"
    type = "Ready"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Set the condition in the list that was read."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        conditions = widget.setdefault("status", {}).setdefault("conditions", [])
        if not any(each["type"] == self.type for each in conditions):
            conditions.append(condition(self.type, True, "AllUp"))
            await api.status.patch(widget, merge_from(base))


class Synced(Ready):
    """Keeps another one."""

    name = "synced"
    type = "Synced"


class CarefulReady(Controller):
    """Keeps its condition and leaves all others alone."""

    kind = KIND
    name = "ready"
    type = "Ready"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Merge the condition by its type."""
        await patch_conditions(api, await api.get(self.kind, request), [condition(self.type, True, "AllUp")])


class CarefulSynced(CarefulReady):
    """Keeps another one."""

    name = "synced"
    type = "Synced"


def test_a_condition_that_another_one_takes_away_is_a_vanished_element() -> None:
    assert _sentences(_explored(Ready(), Synced(), lag=0)) == {
        "vanished element": "synced removed type=Ready from .status.conditions of Widget default/w, "
        "but ready had added it since synced had read the object, and nobody was told"
    }


def test_conditions_that_are_merged_by_type_stay() -> None:
    assert _explored(CarefulReady(), CarefulSynced()).ok


def test_a_line_of_code_that_makes_an_element_vanish_counts_as_one_that_can_lose_an_update() -> None:
    search = BreadthFirst(Scenario([Web(), Dns()], crds=[CRD], objects=[WIDGET], guards=UNGUARDED))
    search.run()
    (violation,) = search.lost.values()
    assert violation.property == "vanished element"


# Lost updates


class Wishes(Controller):
    """Fulfils wishes that come as a label."""

    kind = KIND
    name = "wishes"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Say in the label that it is done."""
        widget = await api.get(self.kind, request)
        if widget["metadata"].get("labels", {}).get("example.com/wanted") in ("1", "2"):
            base = copy.deepcopy(widget)
            widget["metadata"]["labels"]["example.com/wanted"] = "done"
            await api.patch(widget, merge_from(base))


def test_a_lost_update_names_the_field_and_who_had_changed_it() -> None:
    wishes = [update(WIDGET, metadata={"labels": {"example.com/wanted": wish}}) for wish in ("1", "2")]
    assert _sentences(_explored(Wishes(), actions=wishes)) == {
        "lost update": 'wishes wrote .metadata.labels["example.com/wanted"] of Widget default/w over a change made '
        "since it had read the object (by user), and nobody was told"
    }


class First(Controller):
    """Writes its own field of the status."""

    kind = KIND
    name = "first"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Say hello."""
        widget = await api.get(self.kind, request)
        if self.name not in widget.get("status", {}):
            await api.status.patch(widget, merge_patch({"status": {self.name: True}}))


class Second(First):
    """Writes another one."""

    name = "second"


def test_two_that_write_different_fields_of_a_new_status_lose_nothing() -> None:
    assert _explored(First(), Second()).ok


# Observed generations


class Reports(Controller):
    """Rolls out what the server has, and reports in the next run what the cache has, as if that were it."""

    kind = KIND
    name = "reports"
    memory = ("rolled_out",)
    rolled_out = 0

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Roll out, or report."""
        if not self.rolled_out:
            self.rolled_out = (await api.live.get(self.kind, request))["metadata"]["generation"]
            return Result(requeue=True)
        widget = await api.get(self.kind, request)
        await self._report(widget, api, max(self.rolled_out, widget["metadata"]["generation"]))
        return Result()

    async def _report(self, widget: dict[str, Any], api: Api, generation: int) -> None:
        status = {"size": widget["spec"].get("size", 0), "observedGeneration": generation}
        if widget.get("status") != status:
            await api.status.patch(widget, merge_patch({"status": status}))


class HonestReports(Reports):
    """Reports what it has read."""

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Read, and report that."""
        widget = await api.get(self.kind, request)
        await self._report(widget, api, widget["metadata"]["generation"])
        return Result()


RESIZED = [update(WIDGET, spec={"size": 2})]


def test_a_generation_that_was_remembered_but_not_read_is_found() -> None:
    verdict = _explored(Reports(), actions=RESIZED, lag=2)
    assert _sentences(verdict)["observed generation"] == (
        "reports set .status.observedGeneration of Widget default/w to 2, but it had read only generation 1 of it; "
        "generation 2 was made by user"
    )


def test_a_generation_that_was_read_may_be_reported() -> None:
    assert "observed generation" not in _sentences(_explored(HonestReports(), actions=RESIZED, lag=2))


DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {
        "selector": {"matchLabels": {"app": "w"}},
        "template": {
            "metadata": {"labels": {"app": "w"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}


class Parent(Controller):
    """Tells in a condition that its deployment is there."""

    kind = KIND
    owns = ("Deployment.apps/v1",)
    name = "parent"
    whose = "child"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read both, and report the generation of one of them."""
        widget = await api.get(self.kind, request)
        child = await api.get("Deployment.apps/v1", request)
        observed = (child if self.whose == "child" else widget)["metadata"]["generation"]
        ready = {**condition("Ready", True, "Deployed"), "observedGeneration": observed}
        if widget.get("status", {}).get("conditions") != [ready]:
            base = copy.deepcopy(widget)
            widget["status"] = {"conditions": [ready]}
            await api.status.patch(widget, merge_from(base, lock=True))


class HonestParent(Parent):
    """Reports the generation of the object that has the condition."""

    whose = "parent"


def _scaled(controller: Controller) -> Verdict:
    actions = [update(DEPLOYMENT, spec={"replicas": 2}), update(WIDGET, metadata={"labels": {"a": "1"}})]
    return _explored(controller, objects=[WIDGET, DEPLOYMENT], actions=actions)


def test_the_generation_of_a_child_in_a_condition_of_its_parent_is_found() -> None:
    assert _sentences(_scaled(Parent())) == {
        "observed generation": "parent set .status.conditions[type=Ready].observedGeneration of Widget default/w to 2, "
        "but it had read only generation 1 of it"
    }


def test_the_generation_of_the_parent_may_be_reported() -> None:
    assert _scaled(HonestParent()).ok


class Blind(Controller):
    """Reports without a look."""

    kind = KIND
    name = "blind"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write."""
        metadata = {"name": request.name, "namespace": request.namespace}
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata}
        await api.status.patch(widget, merge_patch({"status": {"observedGeneration": 1}}))


def test_whoever_never_read_the_object_has_observed_no_generation_of_it() -> None:
    assert _sentences(_explored(Blind())) == {
        "observed generation": "blind set .status.observedGeneration of Widget default/w to 1, but it had never read it"
    }


# Corners


class Writes:
    """A cluster with one object, and a reconcile that has read some versions of it."""

    def __init__(self, obj: dict[str, Any] = WIDGET, kind: str = KIND, resource: str = "widgets.example.com") -> None:
        self.cluster = Cluster(crds=[CRD], objects=[obj], manager="user")
        self.kind = kind
        self.resource = resource
        self.key = Key("default", obj["metadata"]["name"])
        self.met: tuple[MetVersion, ...] = ()

    def read(self) -> Writes:
        """The reconcile reads the object as it is."""
        version = self.cluster.state.find(self.resource, self.key)
        assert version is not None
        self.met = (*self.met, (self.resource, self.key, version.resource_version))
        return self

    def patch(self, *, manager: str = "user", **fields: Any) -> Writes:
        """Somebody patches the object, or its status."""
        subresource = "status" if "status" in fields else ""
        self.cluster.patch(self.kind, self.key.name, fields, manager=manager, subresource=subresource)
        return self

    def delete(self, propagation: str | None = None) -> Writes:
        """Somebody deletes the object."""
        self.cluster.delete(self.kind, self.key.name, propagation=propagation)
        return self

    def create(self, obj: dict[str, Any] = WIDGET) -> Writes:
        """Somebody creates the object."""
        self.cluster.create(obj, manager="user")
        return self

    def told(self, verb: str = "patch", *, times: int = 1, **given: Any) -> dict[str, str]:
        """The reconcile writes, and this is what is wrong with it."""
        before = self.cluster.state
        for _ in range(times):
            if verb == "patch":
                self.patch(manager="c", **given)
            else:
                getattr(self, verb)(**given)
            given = {"spec": {"again": True}}
        call = Call(verb, self.kind, *self.key)
        flight = InFlight(self.key, Node(b"", None, b"", call, None, 0, ("", 0)), b"{}", self.met, ())
        changes = self.cluster.state.changes_since(before.resource_version)
        assert len(changes) == times
        return dict(violations_of_writes(before, "c", flight, changes))


FINALIZED = {**WIDGET, "metadata": {**WIDGET["metadata"], "finalizers": ["example.com/a"]}}


def test_nothing_else_is_told_of_a_write_to_another_object() -> None:
    writes = Writes().patch(spec={"size": 1}).read().delete().create({**WIDGET, "spec": {"size": 2}})
    assert list(writes.told(status={"observedGeneration": 2})) == ["wrong object"]


def test_the_creator_of_another_object_is_not_who_changed_it_after_that() -> None:
    told = Writes().read().delete().create().patch(manager="bob", spec={"size": 1}).told("delete")
    assert "user has created this one" in told["wrong object"]


def test_a_blind_delete_of_what_was_never_read_is_not_another_object() -> None:
    assert Writes().delete().create().told("delete") == {}


def test_a_write_to_the_new_object_by_one_who_has_read_it_is_not_another_object() -> None:
    assert Writes().read().delete().create().read().told("delete") == {}
    assert Writes().read().delete().create().read().patch(spec={"size": 1}).told(spec={"colour": 1}) == {}


def test_a_create_after_a_delete_hits_nothing() -> None:
    assert Writes().read().delete().told("create") == {}


def test_marking_another_object_as_deleted_is_deleting_it() -> None:
    told = Writes().read().delete().create(FINALIZED).told("delete")
    assert told["wrong object"].startswith("c deleted Widget default/w, but another one than it had read")


def test_a_delete_of_what_has_changed_since_is_no_lost_update() -> None:
    assert Writes().read().patch(spec={"size": 1}).told("delete") == {}


def test_a_delete_may_replace_how_another_delete_was_to_propagate() -> None:
    writes = Writes().read().delete("Foreground")
    assert writes.told("delete", propagation="Background") == {}
    assert writes.cluster.state.find(writes.resource, writes.key) is None


def test_the_newest_version_that_was_read_is_the_base() -> None:
    writes = Writes().read().patch(spec={"size": 1}).read().patch(spec={"colour": 1})
    assert writes.told(spec={"size": 2}) == {}


def test_taking_back_what_was_read_since_is_meant() -> None:
    writes = Writes(FINALIZED).read().patch(metadata={"finalizers": ["example.com/a", "example.com/b"]}).read()
    assert writes.told(metadata={"finalizers": ["example.com/a"]}) == {}


def test_the_author_is_whoever_added_the_element_and_not_who_wrote_the_list_after_that() -> None:
    one, two = condition("One", True, "Up"), condition("Two", True, "Up")
    writes = Writes().read().patch(manager="one", status={"conditions": [one]})
    writes.patch(manager="two", status={"conditions": [one, two]})
    told = writes.told(status={"conditions": [two]})
    assert "but one had added it since c had read the object" in told["vanished element"]


def test_one_write_can_make_an_element_vanish_and_lose_an_update_of_another_field() -> None:
    writes = Writes(FINALIZED).read()
    writes.patch(metadata={"finalizers": ["example.com/a", "example.com/b"]}, spec={"size": 1})
    told = writes.told(metadata={"finalizers": None}, spec={"size": 2})
    assert sorted(told) == ["lost update", "vanished element"]
    assert ".spec.size" in told["lost update"]


def test_a_field_that_somebody_removed_and_that_is_put_back_is_a_lost_update_of_nobody_known() -> None:
    told = Writes({**WIDGET, "spec": {"size": 1}}).read().patch(spec={"size": None}).told(spec={"size": 1})
    assert told == {
        "lost update": "c wrote .spec.size of Widget default/w over a change made since it had read the object, "
        "and nobody was told"
    }


def test_a_finalizer_vanishes_also_when_the_object_goes_with_it() -> None:
    writes = Writes(FINALIZED).read().patch(metadata={"finalizers": ["example.com/a", "example.com/b"]}).delete()
    told = writes.told(metadata={"finalizers": None})
    assert writes.cluster.state.find(writes.resource, writes.key) is None
    assert told == {
        "vanished element": 'c removed "example.com/b" from .metadata.finalizers of Widget default/w, '
        "but user had added it since c had read the object, and nobody was told"
    }


def test_a_claim_that_was_there_is_not_made_again_by_the_next_write() -> None:
    writes = Writes().patch(status={"observedGeneration": 1}).patch(spec={"size": 1}).read()
    assert writes.told(status={"phase": "Ready"}) == {}
    assert Writes().patch(status={"observedGeneration": 1}).told(status={"phase": "Ready"}) == {}


def test_a_claim_that_is_written_back_as_it_was_read_is_a_lost_update_and_no_new_claim() -> None:
    writes = Writes().patch(status={"observedGeneration": 1}).patch(spec={"size": 1}).read()
    writes.patch(status={"observedGeneration": 2})
    assert list(writes.told(status={"observedGeneration": 1})) == ["lost update"]


def test_every_generation_that_was_read_may_be_reported() -> None:
    writes = Writes().read().patch(spec={"size": 1}).read().patch(spec={"size": 2})
    assert writes.told(status={"observedGeneration": 1}) == {}


def test_a_generation_of_the_object_before_this_one_does_not_count() -> None:
    writes = Writes().patch(spec={"size": 1}).read().delete().create().read()
    told = writes.told(status={"observedGeneration": 2})
    assert told == {
        "observed generation": "c set .status.observedGeneration of Widget default/w to 2, "
        "but it had read only generation 1 of it"
    }


def test_a_guess_of_the_next_generation_is_found() -> None:
    told = Writes().read().patch(spec={"size": 1}).read().told(status={"observedGeneration": 3})
    assert told["observed generation"].endswith("to 3, but it had read only generation 1 and 2 of it")


@pytest.mark.parametrize("claim", [0, None, "2", {"type": "Ready"}])
def test_what_is_no_generation_is_no_claim(claim: Any) -> None:
    assert Writes().told(status={"observedGeneration": claim, "conditions": [claim]}) == {}


def test_what_has_no_generation_can_have_none_observed() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    writes = Writes(service, "Service/v1", "services").read()
    told = condition("Ready", True, "Up") | {"observedGeneration": 7, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    assert writes.told(status={"conditions": [told]}) == {}


def test_what_was_read_and_is_forgotten_is_not_called_unread() -> None:
    writes = Writes()
    writes.met = ((writes.resource, writes.key, 10_000),)
    assert writes.told(status={"observedGeneration": 2}) == {}


def test_whoever_wrote_after_a_generation_was_made_has_not_made_it() -> None:
    writes = Writes().read().patch(spec={"size": 1}).patch(manager="bob", metadata={"labels": {"a": "1"}})
    assert writes.told(status={"observedGeneration": 2})["observed generation"].endswith("made by user")


def test_several_writes_of_one_call_to_one_object_are_one_write() -> None:
    """The answer comes after all of them, so the first is not somebody else's."""
    assert Writes().read().patch(spec={"size": 1}).read().told(times=2, spec={"again": False}) == {}
