"""A fix fits the write: each kind of write is locked in its own way, and a guard is named only where it applies."""

from __future__ import annotations

import copy
from abc import abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.explore import Bounds, Scenario, check, create, delete, update
from kontend.explore.explain.causes.guarding import is_locked
from kontend.explore.explain.explanation import explained, origin_of
from kontend.explore.scenario_files import scenarios_in
from kontend.kube.errors import NotFound
from kontend.kube.json_types import Object
from kontend.report.document import Explanation
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import Call
from kontend.runtime.client.patches import json_patch, merge_from, merge_patch, raw
from kontend.runtime.controller import Controller, Request
from kontend.runtime.guards import Guards
from kontend.runtime.writes.conditions import set_condition
from kontend.runtime.writes.status import mutate_status

ROOT = Path(__file__).parents[4]
LOCKED_STATUS = "the guard locked_status, which is off, makes that the default"
MERGE_FROM = "lock the patch: merge_from(base, lock=True)"
GIVEN = "lock the patch: put metadata.resourceVersion of the object that was read into it, or write with mutate_status"
REFUSED = "; the server then refuses the write with 409 Conflict, and the reconcile runs again with a fresh read"
OLD = {**WIDGET, "spec": {"old": True}}


class Plans(Controller):
    """Writes a plan where it sees none; the name is the same for all, so that texts are."""

    name = "plans"
    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Plan."""
        widget = await api.get(self.kind, request)
        if not widget.get("status"):
            await self.send(api, widget, {"plan": api.uuid()})

    @abstractmethod
    async def send(self, api: Api, widget: Object, status: Object) -> None:
        """Write the status."""


class Differs(Plans):
    """Sends a difference, which the guard locks."""

    async def send(self, api: Api, widget: Object, status: Object) -> None:
        """Write."""
        base = copy.deepcopy(widget)
        widget["status"] = status
        await api.status.patch(widget, merge_from(base))


class DiffersUnlocked(Plans):
    """Sends a difference without a lock, whatever the guard says."""

    async def send(self, api: Api, widget: Object, status: Object) -> None:
        """Write."""
        base = copy.deepcopy(widget)
        widget["status"] = status
        await api.status.patch(widget, merge_from(base, lock=False))


class Gives(Plans):
    """Sends a merge patch of its own."""

    async def send(self, api: Api, widget: Object, status: Object) -> None:
        """Write."""
        await api.status.patch(widget, merge_patch({"status": status}))


class GivesMadeElsewhere(Plans):
    """Sends a merge patch that another line has made; a line of this file switches the lock of a difference off."""

    async def send(self, api: Api, widget: Object, status: Object) -> None:
        """Write."""
        patch = merge_patch({"status": status})
        await api.status.patch(widget, patch)


class Mutates(Plans):
    """Sends what has changed, unlocked."""

    async def send(self, api: Api, widget: Object, status: Object) -> None:
        """Write."""
        await mutate_status(api, widget, lambda obj: obj["status"].update(status), lock=False)


class Operates(Plans):
    """Sends a JSON patch."""

    async def send(self, api: Api, widget: Object, status: Object) -> None:
        """Write."""
        await api.status.patch(widget, json_patch([{"op": "add", "path": "/status", "value": status}]))


class Applies(Plans):
    """Applies the status."""

    async def send(self, api: Api, widget: Object, status: Object) -> None:
        """Write."""
        metadata = {name: widget["metadata"][name] for name in ("name", "namespace")}
        await api.status.apply({**WIDGET, "metadata": metadata, "status": status})


class Conditions(Plans):
    """Sends conditions."""

    async def send(self, api: Api, widget: Object, status: Object) -> None:
        """Write."""
        base = copy.deepcopy(widget)
        set_condition(widget, "Planned", True, "Planned", status["plan"], now=api.now())
        await api.status.patch(widget, merge_from(base))


def _explanation(controller: Controller, *, guards: Guards = UNGUARDED, **more: Any) -> Explanation:
    bounds = Bounds(faults=0, concurrent=2)
    scenario = Scenario([controller], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=guards, **more)
    violation = check(scenario).violations[0]
    return explained(scenario, violation, origin_of(scenario), strict=True).violation


def _fix(controller: Controller, **more: Any) -> str:
    violation = _explanation(controller, **more)
    assert violation.property in ("lost update", "vanished element")
    assert violation.fix is not None
    return violation.fix.text


@pytest.mark.parametrize(
    ("controller", "begins"),
    [
        (Differs(), f"{MERGE_FROM} ({LOCKED_STATUS}), or write with mutate_status(api, obj, change)"),
        (DiffersUnlocked(), f"{MERGE_FROM}, or write with mutate_status(api, obj, change)"),
        (Gives(), GIVEN),
        (GivesMadeElsewhere(), f"{MERGE_FROM}, or metadata.resourceVersion of the object that was read in a patch "),
        (Mutates(), "leave out lock=False, so that the patch carries the resourceVersion that was read"),
        (Operates(), "send the resourceVersion that was read in the patch, as {"),
        (Applies(), "put metadata.resourceVersion of the object that was read into the one that is applied"),
        (Conditions(), f"{MERGE_FROM} ({LOCKED_STATUS}), or write with patch_conditions(api, obj, conditions), which "),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Controller) else "",
)
def test_the_fix_of_a_lost_update_fits_the_write(controller: Controller, begins: str) -> None:
    fix = _fix(controller)
    assert fix.startswith(begins)
    assert fix.endswith(REFUSED)
    assert (LOCKED_STATUS in fix) == (LOCKED_STATUS in begins)


def test_the_guard_is_named_where_it_would_have_refused_an_earlier_write_of_the_line() -> None:
    scenario = scenarios_in(str(ROOT / "zoo" / "sei_d6.py"))["buggy"]
    fixes = [
        explained(scenario, one, origin_of(scenario), strict=True).violation.fix for one in check(scenario).violations
    ]
    assert len(fixes) >= 2
    for fix in fixes:
        assert fix is not None
        assert fix.text.startswith(f"{MERGE_FROM} ({LOCKED_STATUS}), or write with mutate_object")


def test_the_guard_prevents_exactly_the_writes_whose_fix_names_it() -> None:
    guards = Guards(read_your_writes=False, fencing=False, monotonic_views=False)
    for controller in (Differs(), DiffersUnlocked(), Gives(), Mutates(), Operates(), Applies()):
        bounds = Bounds(faults=0, concurrent=2)
        verdict = check(Scenario([controller], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=guards))
        assert verdict.ok == (LOCKED_STATUS in _fix(controller)), type(controller).__name__


class OperatesLocked(Plans):
    """Sends a JSON patch with the version, as the fix says."""

    async def send(self, api: Api, widget: Object, status: Object) -> None:
        """Write."""
        version = {"op": "replace", "path": "/metadata/resourceVersion", "value": widget["metadata"]["resourceVersion"]}
        await api.status.patch(widget, json_patch([version, {"op": "add", "path": "/status", "value": status}]))


class AppliesLocked(Plans):
    """Applies the status with the version, as the fix says."""

    async def send(self, api: Api, widget: Object, status: Object) -> None:
        """Write."""
        metadata = {**WIDGET["metadata"], "resourceVersion": widget["metadata"]["resourceVersion"]}
        await api.status.apply({**WIDGET, "metadata": metadata, "status": status})


class GivesLocked(Plans):
    """Sends a merge patch with the version, as the fix says."""

    async def send(self, api: Api, widget: Object, status: Object) -> None:
        """Write."""
        version = widget["metadata"]["resourceVersion"]
        await api.status.patch(widget, merge_patch({"metadata": {"resourceVersion": version}, "status": status}))


@pytest.mark.parametrize(
    "controller", [OperatesLocked(), AppliesLocked(), GivesLocked()], ids=lambda c: type(c).__name__
)
def test_the_locks_that_fixes_name_prevent_the_lost_update(controller: Controller) -> None:
    bounds = Bounds(faults=0, concurrent=2)
    assert check(Scenario([controller], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=UNGUARDED)).ok


class Forces(Controller):
    """Applies a phase that the user also sets."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Apply."""
        widget = await api.get(self.kind, request)
        size = widget["spec"].get("size", 0)
        if size < 2:
            await api.apply({**WIDGET, "spec": {"size": size + 2}})


class Sizes(Controller):
    """Applies another size."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Apply."""
        widget = await api.get(self.kind, request)
        if not widget["spec"].get("size"):
            await api.apply({**WIDGET, "spec": {"size": 1}})


def test_an_apply_over_the_field_of_another_manager_needs_no_force() -> None:
    bounds = Bounds(faults=0)
    scenario = Scenario([Sizes(), Forces()], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=UNGUARDED)
    lost = [violation for violation in check(scenario).violations if violation.property == "lost update"]
    fixes = [explained(scenario, violation, origin_of(scenario), strict=True).violation.fix for violation in lost]
    assert fixes
    for fix in fixes:
        assert fix is not None
        assert fix.text.startswith("apply only the fields that this controller owns, with force=False: the server ")


class Sized(Sizes):
    """Does nothing about a widget that is gone."""

    async def reconcile(self, request: Request, api: Api) -> None:
        """Apply."""
        with suppress(NotFound):
            await super().reconcile(request, api)


def test_an_apply_that_creates_what_was_deleted_needs_the_uid() -> None:
    scenario = Scenario([Sized()], crds=[CRD], objects=[WIDGET], actions=[delete(WIDGET)], guards=UNGUARDED)
    (violation,) = [violation for violation in check(scenario).violations if violation.property == "diverged"]
    fix = explained(scenario, violation, origin_of(scenario), strict=True).violation.fix
    assert fix is not None
    assert fix.text.startswith("put metadata.uid of the object that was read into the one that is applied")


class Deletes(Controller):
    """Deletes old widgets, whichever object has the name by then."""

    kind = KIND
    #: Pass the object as it was read; else only its name.
    whole = True

    async def reconcile(self, request: Request, api: Api) -> None:
        """Delete."""
        try:
            widget = await api.get(self.kind, request)
        except NotFound:
            return
        if widget["spec"].get("old"):
            await api.delete(widget if self.whole else {**WIDGET})


class DeletesByName(Deletes):
    """Does the same by name, which no guard can lock."""

    whole = False


@pytest.mark.parametrize(("controller", "guarded"), [(Deletes(), True), (DeletesByName(), False)])
def test_the_guard_of_deletes_is_named_where_the_object_has_a_uid(controller: Controller, guarded: bool) -> None:
    actions = [delete(OLD), create(WIDGET)]
    bounds = Bounds(faults=0, lag=2)
    scenario = Scenario([controller], crds=[CRD], objects=[OLD], actions=actions, bounds=bounds, guards=UNGUARDED)
    (violation,) = [one for one in check(scenario).violations if one.property == "wrong object"]
    fix = explained(scenario, violation, origin_of(scenario), strict=True).violation.fix
    assert fix is not None
    assert fix.text.startswith('delete with a uid precondition: api.delete(obj, uid=obj["metadata"]["uid"])')
    assert ("(the guard delete_preconditions, which is off, does that)" in fix.text) == guarded


def test_locks_are_found_in_every_format() -> None:
    patch = raw("application/apply-patch+yaml", b"metadata:\n  resourceVersion: '3'\n")
    bodies = {
        b"": False,
        b'{"status":{}}': False,
        b'{"metadata":{"resourceVersion":"3"}}': True,
        b'{"preconditions":{"uid":"u"}}': True,
        b'[{"op":"test","path":"/metadata/resourceVersion","value":"3"}]': True,
        b'[{"op":"add","path":"/status","value":{}}]': False,
        patch.given: False,
    }
    assert {body: is_locked(Call("patch", KIND, body=body)) for body in bodies} == bodies


class Makes(Controller):
    """Makes a ConfigMap where its cache has none."""

    kind = KIND
    owns = ("ConfigMap/v1",)

    async def reconcile(self, request: Request, api: Api) -> None:
        """Make."""
        if not await api.list("ConfigMap/v1", namespace=request.namespace):
            metadata = {"generateName": "made-", "namespace": request.namespace}
            await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


@pytest.mark.parametrize(("lag", "crashes"), [(1, 0), (0, 1)])
def test_a_guard_of_own_writes_is_named_unless_a_restart_has_forgotten_them(lag: int, crashes: int) -> None:
    bounds = Bounds(lag=lag, faults=crashes, crashes=crashes, rewind=crashes, failed=0, lost=0)
    actions = [update(WIDGET, spec={"again": True})]
    scenario = Scenario([Makes()], crds=[CRD], objects=[WIDGET], actions=actions, bounds=bounds, guards=UNGUARDED)
    (violation,) = [one for one in check(scenario).violations if one.property == "diverged"]
    explanation = explained(scenario, violation, origin_of(scenario), strict=True).violation
    assert "; makes itself had created ConfigMap default/made-" in explanation.sentence
    assert explanation.fix is not None
    assert explanation.fix.text.startswith("switch on the guard read_your_writes") == (not crashes)
