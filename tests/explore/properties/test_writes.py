"""Built-in properties of single writes: wrong object, vanished element, lost update, observed generation."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.cluster.state import Change, State
from kontend.explore import Action, Bounds, Scenario, Verdict, check, create, delete, update
from kontend.explore.model.model import Model
from kontend.explore.model.state.process import InFlight, MetVersion
from kontend.explore.program.driven import Start
from kontend.explore.program.progress import Progress
from kontend.explore.program.tree import Node
from kontend.explore.properties.writes import faults_of_writes
from kontend.explore.search.breadth_first import BreadthFirst
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.kube.meta.accessors import is_controlled_by
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import Call
from kontend.runtime.client.patches import merge_from, merge_patch
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.guards import Guards
from kontend.runtime.writes.conditions import condition, patch_conditions
from kontend.runtime.writes.finalizers import add_finalizer
from kontend.runtime.writes.owners import set_controller_reference
from kontend.runtime.writes.spec import mutate_object


def _explored(*controllers: Controller, guards: Guards = UNGUARDED, lag: int = 1, **given: Any) -> Verdict:
    objects = given.pop("objects", [WIDGET])
    return check(
        Scenario(controllers, crds=[CRD], objects=objects, bounds=Bounds(faults=0, lag=lag), guards=guards, **given)
    )


def _sentences(verdict: Verdict) -> dict[str, str]:
    """The sentences of violations by single writes."""
    assert verdict.exhausted
    names = ("wrong object", "vanished element", "lost update", "observed generation")
    return {violation.property: violation.sentence for violation in verdict.violations if violation.property in names}


# Wrong object


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


def test_a_delete_by_name_that_hits_a_recreated_object_is_a_wrong_object() -> None:
    verdict = _explored(Expirer(), objects=[EXPIRED], actions=RECREATED, lag=2)
    assert _sentences(verdict) == {
        "wrong object": "expirer deleted Widget default/w, but not the object that it had read: that one is gone, "
        "and user has created this one under the same name since"
    }
    (trace,) = [violation.trace for violation in verdict.violations if violation.property == "wrong object"]
    assert trace[-1].startswith("expirer: delete Widget.example.com/v1 default/w")


def test_a_delete_with_preconditions_never_hits_a_wrong_object() -> None:
    guards = Guards(fencing=False)
    verdict = _explored(Expirer(), objects=[EXPIRED], actions=RECREATED, lag=2, guards=guards)
    assert _sentences(verdict) == {}
    assert "deleted" not in str(verdict)


class Cleaner(Controller):
    """Deletes the children of a widget that is marked as expired, by their label."""

    kind = KIND
    name = "cleaner"
    compares = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read the widget from the cache and the children from the server, delete."""
        try:
            widget = await api.get(self.kind, request)
        except NotFound:
            return
        for child in await api.live.list("ConfigMap/v1", namespace="default"):
            if widget["spec"].get("expired") and (not self.compares or is_controlled_by(child, widget)):
                await api.delete(child)


class Maker(Controller):
    """Creates the child of a widget that is not expired."""

    kind = KIND
    name = "maker"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read the server, create."""
        try:
            widget = await api.live.get(self.kind, request)
            child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
            set_controller_reference(widget, child)
            if not widget["spec"].get("expired"):
                await api.create(child)
        except (AlreadyExists, NotFound):
            return


class CarefulCleaner(Cleaner):
    """The same with a comparison of uids."""

    compares = True


def test_a_delete_of_a_child_of_a_recreated_owner_is_a_wrong_owner() -> None:
    verdict = _explored(Cleaner(), Maker(), objects=[EXPIRED], actions=[delete(WIDGET), create(WIDGET)], lag=2)
    (violation,) = [violation for violation in verdict.violations if violation.property == "wrong owner"]
    assert "cleaner deleted ConfigMap default/c, which belongs to Widget default/w with uid" in violation.sentence
    assert "cleaner had read an earlier Widget default/w with uid" in violation.sentence


def test_a_comparison_of_uids_prevents_a_wrong_owner() -> None:
    verdict = _explored(CarefulCleaner(), Maker(), objects=[EXPIRED], actions=[delete(WIDGET), create(WIDGET)], lag=2)
    assert "wrong owner" not in [violation.property for violation in verdict.violations]


def test_a_child_of_the_owner_that_was_read_may_be_deleted() -> None:
    verdict = _explored(Cleaner(), Maker(), objects=[WIDGET], actions=[update(WIDGET, spec={"expired": True})], lag=0)
    assert any(not Cluster(state=state).list("ConfigMap/v1") for state in verdict.final_states)
    assert "wrong owner" not in [violation.property for violation in verdict.violations]


def test_an_orphan_of_an_earlier_owner_may_be_deleted() -> None:
    orphan = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
    set_controller_reference({**WIDGET, "metadata": {"name": "w", "uid": "00000000-gone"}}, orphan)
    verdict = _explored(Cleaner(), objects=[EXPIRED, orphan])
    assert "wrong owner" not in [violation.property for violation in verdict.violations]


class Phases(Controller):
    """Writes the phase of a widget."""

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


def test_a_write_to_a_recreated_object_is_a_wrong_object_and_no_lost_update() -> None:
    verdict = _explored(Phases(), actions=RECREATED, lag=2)
    assert _sentences(verdict) == {
        "wrong object": "phases wrote .status of Widget default/w, but not the object that it had read: "
        "that one is gone, and user has created this one under the same name since"
    }


def test_a_locked_write_never_hits_a_wrong_object() -> None:
    assert _sentences(_explored(LockedPhases(), actions=RECREATED, lag=2)) == {}


# Vanished elements


class Web(Controller):
    """Adds a finalizer without a lock."""

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
    """Adds another one."""

    name = "dns"


class CarefulWeb(Controller):
    """Adds the same finalizer with a lock."""

    kind = KIND
    name = "web"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Add a finalizer to what is there."""
        obj = await api.get(self.kind, request)
        await mutate_object(api, obj, lambda widget: add_finalizer(widget, f"example.com/{self.name}"))


class CarefulDns(CarefulWeb):
    """Adds another one with a lock."""

    name = "dns"


def test_a_finalizer_that_another_controller_removes_is_a_vanished_element_and_no_lost_update() -> None:
    assert _sentences(_explored(Web(), Dns(), lag=0)) == {
        "vanished element": 'dns removed "example.com/web" from .metadata.finalizers of Widget default/w, '
        "which web had added since dns read the object; the server accepted the write without a conflict"
    }


def test_finalizers_that_are_added_with_a_lock_are_kept() -> None:
    assert _explored(CarefulWeb(), CarefulDns()).ok


class Ready(Controller):
    """Adds a condition to the list that it has read."""

    kind = KIND
    name = "ready"
    type = "Ready"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Append the condition unless it is there."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        conditions = widget.setdefault("status", {}).setdefault("conditions", [])
        if not any(condition["type"] == self.type for condition in conditions):
            conditions.append(condition(self.type, True, "AllUp"))
            await api.status.patch(widget, merge_from(base))


class Synced(Ready):
    """Adds another condition."""

    name = "synced"
    type = "Synced"


class CarefulReady(Controller):
    """Merges its condition by type."""

    kind = KIND
    name = "ready"
    type = "Ready"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Merge the condition."""
        await patch_conditions(api, await api.get(self.kind, request), [condition(self.type, True, "AllUp")])


class CarefulSynced(CarefulReady):
    """Merges another condition."""

    name = "synced"
    type = "Synced"


def test_a_condition_that_another_controller_removes_is_a_vanished_element() -> None:
    assert _sentences(_explored(Ready(), Synced(), lag=0)) == {
        "vanished element": "synced removed type=Ready from .status.conditions of Widget default/w, "
        "which ready had added since synced read the object; the server accepted the write without a conflict"
    }


def test_conditions_that_are_merged_by_type_are_kept() -> None:
    assert _explored(CarefulReady(), CarefulSynced()).ok


def test_a_line_that_makes_an_element_vanish_counts_as_one_that_can_lose_an_update() -> None:
    search = BreadthFirst(Model(Scenario([Web(), Dns()], crds=[CRD], objects=[WIDGET], guards=UNGUARDED)))
    search.run()
    (violation,) = search.losses.values()
    assert violation.property == "vanished element"


# Lost updates


class Wishes(Controller):
    """Answers a label with the value done."""

    kind = KIND
    name = "wishes"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Set the label to done."""
        widget = await api.get(self.kind, request)
        if widget["metadata"].get("labels", {}).get("example.com/wanted") in ("1", "2"):
            base = copy.deepcopy(widget)
            widget["metadata"]["labels"]["example.com/wanted"] = "done"
            await api.patch(widget, merge_from(base))


def test_a_lost_update_names_the_field_and_the_manager_that_had_changed_it() -> None:
    wishes = [update(WIDGET, metadata={"labels": {"example.com/wanted": wish}}) for wish in ("1", "2")]
    assert _sentences(_explored(Wishes(), actions=wishes)) == {
        "lost update": 'wishes overwrote .metadata.labels["example.com/wanted"] of Widget default/w, which user had '
        "changed since wishes read the object; the server accepted the write without a conflict"
    }


class First(Controller):
    """Writes its own field of the status."""

    kind = KIND
    name = "first"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Set the field."""
        widget = await api.get(self.kind, request)
        if self.name not in widget.get("status", {}):
            await api.status.patch(widget, merge_patch({"status": {self.name: True}}))


class Second(First):
    """Writes another field."""

    name = "second"


def test_writers_of_different_fields_of_a_new_status_lose_nothing() -> None:
    assert _explored(First(), Second()).ok


# Observed generations


class Reports(Controller):
    """Remembers a generation from a live read, and reports it in the next run with what the cache shows."""

    kind = KIND
    name = "reports"
    memory = ("rolled_out",)
    rolled_out = 0

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Remember, or report."""
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
    """Reports the generation that it has read."""

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Read, and report."""
        widget = await api.get(self.kind, request)
        await self._report(widget, api, widget["metadata"]["generation"])
        return Result()


RESIZED = [update(WIDGET, spec={"size": 2})]


def test_a_generation_that_was_remembered_but_not_read_is_reported() -> None:
    verdict = _explored(Reports(), actions=RESIZED, lag=2)
    assert _sentences(verdict)["observed generation"] == (
        "reports set .status.observedGeneration of Widget default/w to 2, but it had read only generation 1 of it; "
        "generation 2 was made by user"
    )


def test_a_generation_that_was_read_may_be_claimed() -> None:
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
    """Sets a condition with the observed generation of its deployment."""

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
    """Sets the generation of the object that has the condition."""

    whose = "parent"


def _scaled(controller: Controller) -> Verdict:
    actions = [update(DEPLOYMENT, spec={"replicas": 2}), update(WIDGET, metadata={"labels": {"a": "1"}})]
    return _explored(controller, objects=[WIDGET, DEPLOYMENT], actions=actions)


def test_the_generation_of_a_child_in_a_condition_of_its_parent_is_reported() -> None:
    assert _sentences(_scaled(Parent())) == {
        "observed generation": "parent set .status.conditions[type=Ready].observedGeneration of Widget default/w to 2, "
        "but it had read only generation 1 of it"
    }


def test_the_generation_of_the_parent_may_be_claimed() -> None:
    assert _scaled(HonestParent()).ok


class Blind(Controller):
    """Claims a generation without a read."""

    kind = KIND
    name = "blind"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write."""
        metadata = {"name": request.name, "namespace": request.namespace}
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata}
        await api.status.patch(widget, merge_patch({"status": {"observedGeneration": 1}}))


def test_a_claim_without_a_read_of_the_object_is_reported() -> None:
    assert _sentences(_explored(Blind())) == {
        "observed generation": "blind set .status.observedGeneration of Widget default/w to 1, but it had never read it"
    }


# Single writes


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
        """A client patches the object, or its status."""
        subresource = "status" if "status" in fields else ""
        self.cluster.patch(self.kind, self.key.name, fields, manager=manager, subresource=subresource)
        return self

    def delete(self, propagation: str | None = None) -> Writes:
        """A client deletes the object."""
        self.cluster.delete(self.kind, self.key.name, propagation=propagation)
        return self

    def create(self, obj: dict[str, Any] = WIDGET) -> Writes:
        """A client creates the object."""
        self.cluster.create(obj, manager="user")
        return self

    def violations(self, verb: str = "patch", *, times: int = 1, own: str = "", **given: Any) -> dict[str, str]:
        """The violations by a write of the reconcile, with their sentences."""
        before = self.cluster.state
        for _ in range(times):
            if verb == "patch":
                self.patch(manager="c", **given)
            else:
                getattr(self, verb)(**given)
            given = {"spec": {"again": True}}
        call = Call(verb, self.kind, *self.key)
        changes = self.cluster.state.changes_since(before.resource_version)
        assert len(changes) == times
        return self.judged(before, call, self.resource, changes, own=own)

    def judged(
        self, before: State, call: Call, resource: str, changes: Sequence[Change], *, own: str = ""
    ) -> dict[str, str]:
        """The violations by the changes of a call, with their sentences."""
        node = Node(b"", None, 0, b"", Progress((call,), None, 0), 0)
        in_flight = InFlight(Start(self.key, b"{}", ""), node, self.met, ())
        faults = faults_of_writes(before, "c", in_flight, call, resource, changes, own=own)
        return {fault.property: fault.sentence for fault in faults}


FINALIZED = {**WIDGET, "metadata": {**WIDGET["metadata"], "finalizers": ["example.com/a"]}}


def test_only_changes_of_the_object_that_the_call_is_about_are_judged() -> None:
    """The server changes others on its own account, before or after it."""
    writes = Writes().read().patch(manager="bob", status={"phase": "a"})
    before = writes.cluster.state
    writes.patch(manager="c", status={"phase": "b"})
    (change,) = writes.cluster.state.changes_since(before.resource_version)
    call = Call("patch", writes.kind, *writes.key)
    elsewhere = Change("budgets", Key("default", "another"), change.old, change.new, change.resource_version, None)
    assert list(writes.judged(before, call, writes.resource, [elsewhere, change])) == ["lost update"]
    assert writes.judged(before, replace(call, name="another"), writes.resource, [change]) == {}
    assert writes.judged(before, call, "budgets", [change]) == {}


def test_nothing_else_is_reported_of_a_write_to_a_wrong_object() -> None:
    writes = Writes().patch(spec={"size": 1}).read().delete().create({**WIDGET, "spec": {"size": 2}})
    assert list(writes.violations(status={"observedGeneration": 2})) == ["wrong object"]


def test_the_creator_of_the_wrong_object_is_named_and_not_a_later_writer() -> None:
    violations = Writes().read().delete().create().patch(manager="bob", spec={"size": 1}).violations("delete")
    assert "user has created this one" in violations["wrong object"]


def test_a_delete_of_an_object_that_was_never_read_is_no_wrong_object() -> None:
    assert Writes().delete().create().violations("delete") == {}


def test_a_write_to_the_new_object_after_reading_it_is_no_wrong_object() -> None:
    assert Writes().read().delete().create().read().violations("delete") == {}
    assert Writes().read().delete().create().read().patch(spec={"size": 1}).violations(spec={"colour": 1}) == {}


def test_a_create_after_a_delete_violates_nothing() -> None:
    assert Writes().read().delete().violations("create") == {}


def test_marking_a_wrong_object_as_deleted_is_deleting_it() -> None:
    violations = Writes().read().delete().create(FINALIZED).violations("delete")
    assert violations["wrong object"].startswith("c deleted Widget default/w, but not the object that it had read")


def test_a_delete_of_an_object_that_has_changed_since_is_no_lost_update() -> None:
    assert Writes().read().patch(spec={"size": 1}).violations("delete") == {}


def test_a_delete_may_change_the_propagation_of_another_delete() -> None:
    writes = Writes().read().delete("Foreground")
    assert writes.violations("delete", propagation="Background") == {}
    assert writes.cluster.state.find(writes.resource, writes.key) is None


def test_a_controller_that_runs_alone_may_overwrite_its_own_conclusions() -> None:
    def writes() -> Writes:
        return Writes().read().patch(manager="c", status={"phase": "Pending", "members": ["a"]})

    after = {"phase": "Ready", "members": ["b"]}
    assert set(writes().violations(status=after)) == {"lost update", "vanished element"}
    assert writes().violations(own="c", status=after) == {}


def test_a_field_of_another_client_is_lost_also_beside_an_own_one() -> None:
    writes = Writes().read().patch(manager="c", status={"a": 1}).patch(manager="bob", status={"b": 1})
    violations = writes.violations(own="c", status={"a": 2, "b": 2})
    assert "overwrote .status.b of Widget default/w, which bob had changed" in violations["lost update"]


def test_an_own_value_with_a_uuid_in_it_is_lost() -> None:
    one, two = (f"job-{digit * 8}-0000-4000-b000-{digit * 12}" for digit in "12")
    writes = Writes().read().patch(manager="c", status={"job": one})
    assert list(writes.violations(own="c", status={"job": two})) == ["lost update"]


def test_an_own_field_that_was_removed_may_be_put_back() -> None:
    def writes(manager: str) -> Writes:
        return (
            Writes()
            .patch(manager=manager, status={"reason": "x"})
            .read()
            .patch(manager=manager, status={"reason": None})
        )

    assert writes("c").violations(own="c", status={"reason": "x"}) == {}
    assert list(writes("bob").violations(own="c", status={"reason": "x"})) == ["lost update"]


class Stages(Controller):
    """Writes a phase from its cache, without a lock."""

    kind = KIND
    name = "stages"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Go on to the phase of the size."""
        widget = await api.get(self.kind, request)
        if widget.get("status", {}).get("phase") != widget["spec"].get("size"):
            await api.status.patch(widget, merge_patch({"status": {"phase": widget["spec"].get("size")}}))


def test_own_conclusions_are_those_of_one_instance() -> None:
    """Another instance is another client."""
    sizes = [update(WIDGET, spec={"size": size}) for size in (1, 2)]
    assert _explored(Stages(), actions=sizes).ok
    scenario = Scenario([Stages()], crds=[CRD], objects=[WIDGET], actions=sizes, guards=UNGUARDED)
    two = check(replace(scenario, bounds=Bounds(faults=0, concurrent=2)))
    assert "lost update" in _sentences(two)


def test_the_newest_version_that_was_read_is_the_base() -> None:
    writes = Writes().read().patch(spec={"size": 1}).read().patch(spec={"colour": 1})
    assert writes.violations(spec={"size": 2}) == {}


def test_taking_back_a_change_that_was_read_is_no_violation() -> None:
    writes = Writes(FINALIZED).read().patch(metadata={"finalizers": ["example.com/a", "example.com/b"]}).read()
    assert writes.violations(metadata={"finalizers": ["example.com/a"]}) == {}


def test_the_author_is_the_manager_that_added_the_element_and_not_a_later_writer_of_the_list() -> None:
    one, two = condition("One", True, "Up"), condition("Two", True, "Up")
    writes = Writes().read().patch(manager="one", status={"conditions": [one]})
    writes.patch(manager="two", status={"conditions": [one, two]})
    violations = writes.violations(status={"conditions": [two]})
    assert "which one had added since c read the object" in violations["vanished element"]


def test_one_write_can_make_an_element_vanish_and_lose_an_update_of_another_field() -> None:
    writes = Writes(FINALIZED).read()
    writes.patch(metadata={"finalizers": ["example.com/a", "example.com/b"]}, spec={"size": 1})
    violations = writes.violations(metadata={"finalizers": None}, spec={"size": 2})
    assert sorted(violations) == ["lost update", "vanished element"]
    assert ".spec.size" in violations["lost update"]


def test_putting_back_a_removed_field_is_a_lost_update_of_an_unknown_author() -> None:
    violations = Writes({**WIDGET, "spec": {"size": 1}}).read().patch(spec={"size": None}).violations(spec={"size": 1})
    assert violations == {
        "lost update": "c overwrote .spec.size of Widget default/w, which another client had changed since c read the "
        "object; the server accepted the write without a conflict"
    }


def test_a_finalizer_vanishes_also_when_the_object_is_removed_with_it() -> None:
    writes = Writes(FINALIZED).read().patch(metadata={"finalizers": ["example.com/a", "example.com/b"]}).delete()
    violations = writes.violations(metadata={"finalizers": None})
    assert writes.cluster.state.find(writes.resource, writes.key) is None
    assert violations == {
        "vanished element": 'c removed "example.com/b" from .metadata.finalizers of Widget default/w, '
        "which user had added since c read the object; the server accepted the write without a conflict"
    }


def test_a_claim_that_was_there_before_is_not_the_next_writers() -> None:
    writes = Writes().patch(status={"observedGeneration": 1}).patch(spec={"size": 1}).read()
    assert writes.violations(status={"phase": "Ready"}) == {}
    assert Writes().patch(status={"observedGeneration": 1}).violations(status={"phase": "Ready"}) == {}


def test_a_claim_that_is_written_back_as_read_is_a_lost_update_and_no_new_claim() -> None:
    writes = Writes().patch(status={"observedGeneration": 1}).patch(spec={"size": 1}).read()
    writes.patch(status={"observedGeneration": 2})
    assert list(writes.violations(status={"observedGeneration": 1})) == ["lost update"]


def test_every_generation_that_was_read_may_be_claimed() -> None:
    writes = Writes().read().patch(spec={"size": 1}).read().patch(spec={"size": 2})
    assert writes.violations(status={"observedGeneration": 1}) == {}


def test_a_generation_of_a_former_object_of_the_name_does_not_count() -> None:
    writes = Writes().patch(spec={"size": 1}).read().delete().create().read()
    violations = writes.violations(status={"observedGeneration": 2})
    assert violations == {
        "observed generation": "c set .status.observedGeneration of Widget default/w to 2, "
        "but it had read only generation 1 of it"
    }


def test_a_guess_of_the_next_generation_is_reported() -> None:
    violations = Writes().read().patch(spec={"size": 1}).read().violations(status={"observedGeneration": 3})
    assert violations["observed generation"].endswith("to 3, but it had read only generation 1 and 2 of it")


@pytest.mark.parametrize("claim", [0, None, "2", {"type": "Ready"}])
def test_a_value_that_is_no_generation_is_no_claim(claim: Any) -> None:
    assert Writes().violations(status={"observedGeneration": claim, "conditions": [claim]}) == {}


def test_kinds_without_generations_are_not_judged() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    writes = Writes(service, "Service/v1", "services").read()
    ready = condition("Ready", True, "Up") | {"observedGeneration": 7, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    assert writes.violations(status={"conditions": [ready]}) == {}


def test_a_read_beyond_the_history_counts_as_a_read() -> None:
    writes = Writes()
    writes.met = ((writes.resource, writes.key, 10_000),)
    assert writes.violations(status={"observedGeneration": 2}) == {}


def test_a_generation_is_made_by_the_write_that_raised_it_and_not_by_a_later_one() -> None:
    writes = Writes().read().patch(spec={"size": 1}).patch(manager="bob", metadata={"labels": {"a": "1"}})
    assert writes.violations(status={"observedGeneration": 2})["observed generation"].endswith("made by user")


def test_several_writes_of_one_call_to_one_object_are_one_write() -> None:
    """The response comes after all of them, so the first is no write of another client."""
    assert Writes().read().patch(spec={"size": 1}).read().violations(times=2, spec={"again": False}) == {}


class StampsAfterWork(Controller):
    """Writes a child for what it has read, reads the widget again, and stamps that generation."""

    kind = KIND
    read_again = True

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            widget = await api.get(KIND, request)
        except NotFound:
            return
        size = widget.get("spec", {}).get("size", 0)
        child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "w", "namespace": "default"}}
        await api.apply({**child, "data": {"size": str(size)}})
        if self.read_again:
            widget = await api.live.get(KIND, request)
        widget.setdefault("status", {})["observedGeneration"] = widget["metadata"]["generation"]
        await api.status.update(widget)


class StampsWhatItRead(StampsAfterWork):
    """Stamps the generation for which it did the work."""

    read_again = False


@pytest.mark.parametrize(("controller", "names"), [(StampsAfterWork, ["observed generation"]), (StampsWhatItRead, [])])
def test_a_generation_that_was_read_after_the_work_does_not_count(
    controller: type[Controller], names: list[str]
) -> None:
    scenario = Scenario(
        [controller()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 2})],
        bounds=Bounds(lag=0, faults=0),
    )
    verdict = check(scenario)
    assert [violation.property for violation in verdict.violations] == names
    if names:
        assert "before it did the work that the stamp stands for" in verdict.violations[0].sentence
