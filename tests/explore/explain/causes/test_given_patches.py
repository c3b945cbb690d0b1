"""A patch in a variable is told from a difference by what was sent. No line of this file switches a lock off."""

from __future__ import annotations

import copy
from abc import abstractmethod

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.explore import Bounds, Scenario, check
from kontend.explore.explain.causes.given_patches import repeats
from kontend.explore.explain.explanation import explained, origin_of
from kontend.kube.json_types import Object
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Patch, merge_from, merge_patch
from kontend.runtime.controller import Controller, Request
from kontend.runtime.guards import Guards

GUARDED = Guards(read_your_writes=False, fencing=False, monotonic_views=False)
DIFFERENCE = "lock the patch: merge_from(base, lock=True)"
GIVEN = "lock the patch: put metadata.resourceVersion of the object that was read into it, or write with"
EITHER = f"{DIFFERENCE}, or metadata.resourceVersion of the object that was read in a patch of your own, or write with"


class Writes(Controller):
    """Writes an owner where it sees none, with a patch that another method makes."""

    name = "writes"
    kind = KIND
    status = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write once."""
        widget = await api.get(self.kind, request)
        if "owner" in (widget.get("status" if self.status else "spec") or {}):
            return
        patch = self.made(widget, api.uuid())
        await (api.status.patch(widget, patch) if self.status else api.patch(widget, patch))

    @abstractmethod
    def made(self, widget: Object, owner: str) -> Patch:
        """The patch."""


class GivesStatus(Writes):
    """Gives the status whole, with nothing but what changes."""

    status = True

    def made(self, widget: Object, owner: str) -> Patch:
        """Make it."""
        del widget
        return merge_patch({"status": {"owner": owner}})


class GivesList(Writes):
    """Gives a list whole."""

    def made(self, widget: Object, owner: str) -> Patch:
        """Make it."""
        del widget
        return merge_patch({"spec": {"owner": owner, "tags": ["a"]}})


class Repeats(Writes):
    """Gives a spec with a field that stays as it is."""

    def made(self, widget: Object, owner: str) -> Patch:
        """Make it."""
        return merge_patch({"spec": {**widget["spec"], "owner": owner}})


class Gives(Writes):
    """Gives what changes in the spec: a difference would be the same."""

    def made(self, widget: Object, owner: str) -> Patch:
        """Make it."""
        del widget
        return merge_patch({"spec": {"owner": owner}})


class Differs(Writes):
    """Sends the difference of the spec."""

    def made(self, widget: Object, owner: str) -> Patch:
        """Make it."""
        base = copy.deepcopy(widget)
        widget["spec"] = {**(widget.get("spec") or {}), "owner": owner}
        return merge_from(base)


class DiffersInStatus(Writes):
    """Sends the difference of the status."""

    status = True

    def made(self, widget: Object, owner: str) -> Patch:
        """Make it."""
        base = copy.deepcopy(widget)
        widget["status"] = {"owner": owner}
        return merge_from(base)


@pytest.mark.parametrize(
    ("controller", "guards", "begins"),
    [
        (GivesStatus(), UNGUARDED, GIVEN),
        (GivesStatus(), GUARDED, GIVEN),
        (GivesList(), UNGUARDED, GIVEN),
        (GivesList(), GUARDED, GIVEN),
        (Repeats(), UNGUARDED, GIVEN),
        (Gives(), UNGUARDED, EITHER),
        (Gives(), GUARDED, EITHER),
        (Differs(), UNGUARDED, EITHER),
        (Differs(), GUARDED, EITHER),
        (DiffersInStatus(), UNGUARDED, f"{DIFFERENCE} (the guard locked_status"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_fix_names_the_remedy_that_fits_what_was_sent(controller: Controller, guards: Guards, begins: str) -> None:
    bounds = Bounds(faults=0, concurrent=2)
    widget = {**WIDGET, "spec": {"size": 1}}
    scenario = Scenario([controller], crds=[CRD], objects=[widget], bounds=bounds, guards=guards)
    violation = explained(scenario, check(scenario).violations[0], origin_of(scenario), strict=True).violation
    assert violation.property == "lost update"
    assert violation.fix is not None
    assert violation.fix.text.startswith(begins)


@pytest.mark.parametrize(
    ("patch", "is_repeated"),
    [
        ({"spec": {"size": 1}}, True),
        ({"spec": {"size": 2}}, False),
        ({"spec": {"size": 2, "on": True}}, True),
        ({"spec": {"on": None}}, False),
        ({"spec": {"gone": None}}, True),
        ({"spec": {}}, True),
        ({"status": {}}, False),
        ({"status": {"size": 1}}, False),
        ({"kind": "Widget", "spec": {"size": 2}}, True),
    ],
)
def test_a_patch_repeats_what_is_there(patch: Object, is_repeated: bool) -> None:
    assert repeats(patch, {"kind": "Widget", "spec": {"size": 1, "on": True}}) is is_repeated
