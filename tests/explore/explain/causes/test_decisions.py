"""Explanations of a write that is missing: the read, the memory or the trigger because of which it was not made."""

from __future__ import annotations

import copy
import re
from typing import Any, ClassVar

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.explore import Bounds, Scenario, check, delete, update
from kontend.explore.explain.causes.assignments import assignment_of
from kontend.explore.explain.explanation import explained, origin_of
from kontend.explore.explain.final_states import differences
from kontend.explore.model.model import Model
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.report.document import Document
from kontend.report.text import render
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Mapper, Request


def _diverged(scenario: Scenario) -> Document:
    violation = next(violation for violation in check(scenario).violations if violation.property == "diverged")
    return explained(scenario, violation, origin_of(scenario), strict=True)


def _config(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": name}}


class Pairs(Controller):
    """Creates two ConfigMaps if the first one is not there."""

    kind = KIND

    async def reconcile(self, _request: Request, api: Api) -> None:
        """Create."""
        try:
            await api.live.get("ConfigMap/v1", "default/first")
        except NotFound:
            for name in ("first", "second"):
                await api.create(_config(name))


def test_an_object_that_stands_for_others_is_named_with_the_read_that_trusts_it() -> None:
    bounds = Bounds(lag=0, faults=1, lost=1, failed=0, crashes=0)
    document = _diverged(Scenario([Pairs()], crds=[CRD], objects=[WIDGET], bounds=bounds))
    violation = document.violation
    assert violation.sentence.startswith(
        "ConfigMap default/second is missing in the end: the response to the create of ConfigMap default/first by "
        "pairs was lost (step 3), after the server had carried it out; "
    )
    assert (
        "pairs ran again in steps 4 to 6 and did not create ConfigMap default/second at test_decisions.py:"
        in violation.sentence
    )
    assert (
        "in step 6 it found ConfigMap default/first (written in step 3), which the good run lacks" in violation.sentence
    )
    assert violation.culprits == (3, 6)
    assert violation.fix is not None
    assert violation.fix.text == (
        "do not take ConfigMap default/first for a sign that the rest is done: look at ConfigMap default/second "
        "itself, or write ConfigMap default/first last"
    )
    assert violation.fix.line is not None
    assert "api.live.get" in violation.fix.line.text
    # The reconcile that decides is shown, although it changes nothing.
    assert "no-op" not in render(document)


class Remembers(Controller):
    """Copies the size of a widget to its status, from its own last copy while the cache has not moved on."""

    kind = KIND
    memory = ("kept",)

    def __init__(self) -> None:
        """Remember nothing."""
        self.kept: dict[str, Any] = {}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Copy."""
        widget = await api.get(self.kind, request)
        if self.kept and self.kept["over"] == widget["metadata"]["resourceVersion"]:
            widget = copy.deepcopy(self.kept["object"])
        if (widget.get("status") or {}).get("size") == widget["spec"]["size"]:
            return
        widget["status"] = {"size": widget["spec"]["size"]}
        await api.status.update(widget)
        cached = await api.get(self.kind, request)
        self.kept = {"over": cached["metadata"]["resourceVersion"], "object": widget}


SIZED = {**WIDGET, "spec": {"size": 1}}


def test_a_remembered_copy_that_is_older_than_the_cache_is_named_with_the_line_that_keeps_it() -> None:
    """A user acts between the controller's write and its next read."""
    scenario = Scenario(
        [Remembers()],
        crds=[CRD],
        objects=[SIZED],
        actions=[update(SIZED, spec={"size": 2})],
        bounds=Bounds(lag=1, faults=0),
        guards=UNGUARDED,
    )
    violation = _diverged(scenario).violation
    assert "ends with status.size = 1 instead of 2" in violation.sentence
    assert "although it read what the good run reads there: it still remembers Widget default/w" in violation.sentence
    assert "in self.kept, since step " in violation.sentence
    assert "user had changed it at resourceVersion" in violation.sentence
    assert violation.fix is not None
    assert violation.fix.text.startswith("compare resourceVersions where self.kept is set and where it is used")
    assert violation.fix.line is not None
    assert violation.fix.line.text.strip().startswith("self.kept = ")
    assert len(violation.culprits) == 2  # its own write, a copy of which it keeps, and that of the user


class Once(Controller):
    """Labels the ConfigMap of a widget once in its life."""

    kind = KIND
    watches: ClassVar[Any] = {"ConfigMap/v1": lambda *_: ["default/w"]}
    memory = ("done",)

    def __init__(self) -> None:
        """Remember nothing."""
        self.done = False

    async def reconcile(self, _request: Request, api: Api) -> None:
        """Label."""
        try:
            config = await api.live.get("ConfigMap/v1", "default/m")
        except NotFound:
            return
        base = copy.deepcopy(config)
        if not self.done:
            self.done = True
            config["data"] = {"seen": "yes"}
            await api.patch(config, merge_from(base))


def test_a_flag_in_memory_that_outlives_a_failed_call_is_named() -> None:
    bounds = Bounds(lag=0, faults=1, lost=0, failed=1, crashes=0)
    scenario = Scenario([Once()], crds=[CRD], objects=[WIDGET, _config("m")], bounds=bounds, guards=UNGUARDED)
    violation = _diverged(scenario).violation
    assert "it still remembers self.done = true, since step" in violation.sentence
    assert "; in the good run it remembers false" in violation.sentence
    assert violation.fix is not None
    assert "not by self.done" in violation.fix.text
    assert violation.fix.line is not None
    assert violation.fix.line.text.strip() == "self.done = True"


class Inventory(Controller):
    """Empties its list of ConfigMaps, deletes them, then lets the widget go."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Clean up."""
        try:
            widget = await api.live.get(self.kind, request)
        except NotFound:
            return
        if not widget["metadata"].get("deletionTimestamp"):
            return
        listed = widget["metadata"]["annotations"]["inventory"]
        if listed:
            widget["metadata"]["annotations"]["inventory"] = ""
            await api.update(widget)
            await api.delete(_config(listed))
        widget["metadata"]["finalizers"] = []
        await api.update(widget)


def test_the_first_reconcile_that_was_misled_counts_not_the_last_one() -> None:
    """After the object is gone every later reconcile has nothing to decide."""
    metadata = {"namespace": "default", "name": "w", "finalizers": ["e.com/x"], "annotations": {"inventory": "m"}}
    widget = {**WIDGET, "metadata": metadata}
    scenario = Scenario(
        [Inventory()],
        crds=[CRD],
        objects=[widget, _config("m")],
        actions=[delete(widget)],
        bounds=Bounds(lag=0, faults=1, lost=1, failed=0, crashes=0),
        guards=UNGUARDED,
    )
    violation = _diverged(scenario).violation
    assert 'it read metadata.annotations.inventory = "" of Widget default/w (written in step' in violation.sentence
    assert 'the good run reads "m" there' in violation.sentence
    assert violation.fix is not None
    assert "or write metadata.annotations.inventory of Widget default/w last" in violation.fix.text


class Ends(Controller):
    """Creates a ConfigMap and labels it, unless it exists."""

    kind = KIND

    async def reconcile(self, _request: Request, api: Api) -> None:
        """Create and label."""
        config = _config("m")
        try:
            await api.create(config)
        except AlreadyExists:
            return
        base = copy.deepcopy(config)
        config["data"] = {"scheduled": "false"}
        await api.patch(config, merge_from(base))


def test_a_create_that_is_refused_and_ends_the_reconcile_is_named() -> None:
    bounds = Bounds(lag=0, faults=1, lost=1, failed=0, crashes=0)
    violation = _diverged(Scenario([Ends()], crds=[CRD], objects=[WIDGET], bounds=bounds, guards=UNGUARDED)).violation
    assert "with 409 AlreadyExists in step 5, because of step 2" in violation.sentence
    assert violation.culprits == (2, 5)
    assert violation.fix is not None
    assert violation.fix.text.startswith("treat AlreadyExists as found")
    assert violation.fix.line is not None
    assert violation.fix.line.text.strip() == "await api.create(config)"


class Counts(Controller):
    """Counts its widgets in a ConfigMap, then marks each as counted."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Count."""
        widget = await api.live.get(self.kind, request)
        if (widget.get("status") or {}).get("counted"):
            return
        config = await api.live.get("ConfigMap/v1", "default/m")
        config["data"] = {"used": str(int(config["data"]["used"]) + 1)}
        await api.update(config)
        widget["status"] = {"counted": True}
        await api.status.update(widget)


@pytest.mark.parametrize("fault", ["crashes", "lost"])
def test_a_write_that_is_made_again_after_a_fault_is_named_twice(fault: str) -> None:
    faults: Any = {"lost": 0, "failed": 0, "crashes": 0, fault: 1}
    scenario = Scenario(
        [Counts()],
        crds=[CRD],
        objects=[WIDGET, {**_config("m"), "data": {"used": "0"}}],
        bounds=Bounds(lag=0, faults=1, **faults),
        guards=UNGUARDED,
    )
    violation = _diverged(scenario).violation
    assert 'ends with data.used = "2" instead of "1"' in violation.sentence
    assert "made the write of step 4 a second time at test_decisions.py:" in violation.sentence
    assert 'it changed data.used of ConfigMap default/m from "1" to "2"' in violation.sentence
    assert violation.culprits[0] == 4
    assert len(violation.culprits) == 2
    assert violation.fix is not None
    assert violation.fix.text.startswith("make this write repeatable")
    assert violation.fix.line is not None
    assert violation.fix.line.text.strip() == "await api.update(config)"


class Names(Controller):
    """Creates a ConfigMap with a made-up name for each widget, and writes its size to the status."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create."""
        widget = await api.live.get(self.kind, request)
        if (widget.get("status") or {}).get("config"):
            return
        metadata = {"namespace": "default", "generateName": "c-", "labels": {"of": request.name}}
        config = await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        widget["status"] = {"config": config["metadata"]["name"], "order": "first"}
        await api.status.update(widget)


def test_objects_with_made_up_names_are_compared_by_their_content() -> None:
    """The order in which they are created decides their names: that is no difference."""
    other = {**WIDGET, "metadata": {"namespace": "default", "name": "x"}}
    scenario = Scenario(
        [Names()], crds=[CRD], objects=[WIDGET, other], bounds=Bounds(lag=0, faults=0), guards=UNGUARDED
    )
    ends = []
    for order in (("w", "x"), ("x", "w")):
        model = Model(scenario)
        world = model.initial()
        for name in order:
            for _ in range(20):
                steps = [
                    step
                    for step in model.steps(world)
                    if step.action in ("start", "call") and str(step.subject) == f"default/{name}"
                ]
                if not steps:
                    break
                world = model.next(world, steps[0]).world
        ends.append(world.state)
    assert ends[0].resource_version == ends[1].resource_version
    assert differences(ends[0], ends[1]) == ()


class Leaves(Controller):
    """Creates another widget with a made-up name, then records it with the size of that moment."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create and record."""
        if request.name != "w":
            return
        widget = await api.live.get(self.kind, request)
        if (widget.get("status") or {}).get("child"):
            return
        child = await api.create({**WIDGET, "metadata": {"namespace": "default", "generateName": "x-"}})
        widget["status"] = {"child": child["metadata"]["name"], "size": widget["spec"]["size"]}
        await api.status.update(widget)


class Assigns(Controller):
    """Sets attributes in several ways."""

    kind = KIND

    def __init__(self) -> None:
        """Set the first values, which does not count."""
        self.names: list[str] = []
        self.counts: dict[str, int] = {}
        self.total = 0
        self.never = 0

    async def reconcile(self, request: Request, _api: Api) -> None:
        """Set."""
        self.names.append(str(request))  # names
        self.counts["a"] = 1  # counts
        self.total += 1  # total


def test_the_line_that_sets_an_attribute_is_found() -> None:
    for name in ("names", "counts", "total"):
        line = assignment_of(Assigns(), name)
        assert line is not None
        with open(line.file, encoding="utf-8") as file:
            assert file.read().splitlines()[line.line - 1].endswith(f"# {name}")
    assert assignment_of(Assigns(), "never") is None


def test_an_object_that_is_left_over_comes_before_fields_that_differ() -> None:
    """The field differs in unperturbed runs, too: it says nothing about the fault."""
    sized = {**WIDGET, "spec": {"size": 1}}
    scenario = Scenario(
        [Leaves()],
        crds=[CRD],
        objects=[sized],
        actions=[update(sized, spec={"size": 2})],
        bounds=Bounds(lag=0, faults=1, lost=0, failed=0, crashes=1),
        guards=UNGUARDED,
    )
    sentence = _diverged(scenario).violation.sentence
    assert re.match(r"Widget default/x-\w+ is left over in the end: leaves created it", sentence)


class CountsWork(Controller):
    """Counts each Widget whose work is done: says so in a ConfigMap, resets the Widget, then counts."""

    kind = KIND
    watches: ClassVar[dict[str, Mapper]] = {"ConfigMap/v1": lambda _object, _cache: [Request("default", "w")]}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Count once."""
        notes = await api.live.get("ConfigMap/v1", Request("default", "notes"))
        widget = await api.get(self.kind, request)
        data = notes["data"]
        if widget["spec"].get("done") and data["pending"] == "no":
            data["pending"] = "yes"
            await api.update(notes)
        if data["pending"] == "yes":
            if widget["spec"].get("done"):
                widget["spec"] = {"done": False}
                await api.update(widget)
            notes["data"] = {"pending": "no", "count": str(int(data["count"]) + 1)}
            await api.update(notes)


NOTES = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "notes", "namespace": "default"},
    "data": {"pending": "no", "count": "0"},
}


def test_a_value_that_was_right_for_a_while_is_not_said_to_be_missing() -> None:
    """The stale read of the controller's own write is at fault, and the fix is to see it."""
    done = {**WIDGET, "spec": {"done": True}}
    bounds = Bounds(lag=1, faults=0)
    scenario = Scenario([CountsWork()], crds=[CRD], objects=[done, NOTES], bounds=bounds, guards=UNGUARDED)
    violation = _diverged(scenario).violation
    assert violation.sentence.startswith('ConfigMap default/notes ends with data.count = "2" instead of "1": ')
    assert "did not" not in violation.sentence
    assert "lacks" not in violation.sentence
    assert violation.fix is not None
    assert violation.fix.text.startswith("switch on the guard read_your_writes")
