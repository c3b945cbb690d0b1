"""Explanations name the cause: the reads, the writes, their values and versions, and the change that helps."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from explore.samples import SIGNED, Fails, Sums, Toggles
from explore.widgets import CRD, KIND, UNGUARDED, WIDGET, Widgets, double_plan
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, always, check, create, delete, eventually, update
from kontend.explore.explain.explanation import explained, origin_of
from kontend.explore.explain.lines import SourceLines
from kontend.explore.explain.steps import StepWriter
from kontend.explore.explain.trail import Trail
from kontend.explore.model.model import Model
from kontend.explore.model.step import Step
from kontend.explore.scenario_files import scenarios_in
from kontend.kube.errors import ApiError, Conflict, NotFound
from kontend.kube.meta.names import Key
from kontend.predicates import GenerationChanged
from kontend.report.document import Document
from kontend.report.text import render, trace_lines
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request

ROOT = Path(__file__).parents[3]
WIDGET_KEY = Key("default", "w")
OLD = {**WIDGET, "spec": {"old": True}}


def _of(
    *controllers: Controller, objects: Any = (WIDGET,), lag: int = 0, guards: Any = UNGUARDED, **more: Any
) -> Scenario:
    return Scenario(
        list(controllers), crds=[CRD], objects=objects, bounds=Bounds(faults=0, lag=lag), guards=guards, **more
    )


def _explained(scenario: Scenario, name: str, **options: Any) -> Document:
    (violation,) = [violation for violation in check(scenario, **options).violations if violation.property == name]
    document = explained(scenario, violation, origin_of(scenario), strict=True)
    assert Document.load(document.dump()) == document
    return document


def _values(document: Document, number: int) -> dict[str, tuple[Any, Any]]:
    step = document.steps[number - 1]
    return {field.path: (field.before, field.after) for write in step.writes for field in write.fields}


# Clashing writes


def test_a_lost_update_names_both_writes_with_values_and_versions() -> None:
    document = _explained(double_plan(Widgets(), lag=1, concurrent=2), "lost update")
    first, second = (_values(document, number)["status.plan.id"][1] for number in document.violation.culprits)
    assert document.violation.sentence == (
        f'widgets#2 wrote status.plan.id = "{second[:8]}…" to Widget default/w from resourceVersion 3 (read in step 5);'
        f' widgets#1 had changed it to "{first[:8]}…" at resourceVersion 4 (step 3), and the server accepted the write '
        "without a conflict"
    )
    assert document.violation.culprits == (3, 6)
    assert document.violation.perturbations == ("a stale read in step 5",)


def test_the_fix_of_a_blind_patch_is_a_lock_at_its_line() -> None:
    fix = _explained(double_plan(Widgets(), lag=1, concurrent=2), "lost update").violation.fix
    assert fix is not None
    assert "merge_from(base, lock=True)" in fix.text
    assert "mutate_status" in fix.text
    assert fix.line is not None
    assert (fix.line.file, fix.line.function) == ("tests/explore/widgets.py", "reconcile")
    assert "api.status.patch" in fix.line.text


def test_a_vanished_element_is_named() -> None:
    sentence = _explained(SIGNED, "vanished element").violation.sentence
    assert sentence.startswith('second wrote status.signed of Widget default/w without "first" from resourceVersion 3 ')
    assert "; first had added it at resourceVersion 4 (step 5), and the server accepted" in sentence


class Deletes(Controller):
    """Deletes old widgets, whichever object has the name by then."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Delete."""
        try:
            widget = await api.get(self.kind, request)
        except ApiError:
            return
        if widget["spec"].get("old"):
            await api.delete(widget)


WRONG = _of(Deletes(), objects=[OLD], actions=[delete(OLD), create(WIDGET)], lag=2)


def test_a_wrong_object_is_told_apart_by_its_uid() -> None:
    violation = _explained(WRONG, "wrong object").violation
    assert "which user had created (step 2) under the same name; deletes meant the one with uid" in violation.sentence
    assert violation.culprits == (2, 5)
    assert violation.fix is not None
    assert "uid precondition" in violation.fix.text


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        # The second cached read is the one that the refused write rests on.
        ("nmstate_815", "because policies itself had changed status.unavailable of "),
        ("nmstate_815", ", and policies had read resourceVersion 3 (step 6); the reconcile went on without this write"),
        ("crossplane_6228", ": claims removes status.conditions[type=DatabaseReady] of Claim default/c (step 6); "),
        ("crossplane_6228", "; syncer adds status.conditions[type=DatabaseReady] = {"),
        (
            "sei_371",
            ': deployments removes "tcp://peer" from spec.peers of SeiNode default/n (step 11); ceremony adds ',
        ),
        (
            "kcp_3926",
            ': in step 6 it found no "bindings" in spec.initializers of LogicalCluster default/lc (removed in ',
        ),
        ("sei_450", ": tasks created it (step 7); the response to the create of ConfigMap default/1bd6de44-"),
        ("sei_r1", "and then stopped, because the response was lost (step 4), so that what it would have recorded is "),
        ("casskop_321", ": clusters wrote spec."),
    ],
)
def test_sentences_of_the_zoo_name_what_a_reader_looks_for(entry: str, text: str) -> None:
    scenario = scenarios_in(str(ROOT / "zoo" / f"{entry}.py"))["buggy"]
    violations = check(scenario).violations
    sentences = [explained(scenario, one, origin_of(scenario), strict=True).violation.sentence for one in violations]
    assert any(text in f": {sentence}" for sentence in sentences), sentences


def test_a_counter_of_the_reconciled_object_is_computed_from_its_spec() -> None:
    fix = _explained(scenarios_in(str(ROOT / "zoo" / "cert_manager_6837.py"))["buggy"], "diverged").violation.fix
    assert fix is not None
    assert fix.text.startswith("make this write repeatable: a value computed from the spec of Certificate default/tls ")


def test_a_wrong_owner_comes_with_the_moment_of_the_read() -> None:
    document = _explained(scenarios_in(str(ROOT / "zoo" / "rabbitmq_648.py"))["buggy"], "wrong owner")
    deleted = document.violation.culprits[-1]
    read = max(step.number for step in document.steps if step.call is not None and step.call.cached)
    assert document.violation.sentence.endswith(
        f", which is gone; it read that in step {read}, from its cache, and deleted in step {deleted}"
    )


# Outdated reads


class Copies(Controller):
    """Copies the size of the widget to a ConfigMap."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Copy."""
        widget = await api.get(self.kind, request)
        copied = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"namespace": "default", "generateName": "copy-"},
            "data": {"size": str(widget["spec"].get("size"))},
        }
        await api.create(copied)


def test_a_write_that_rests_on_an_outdated_read_names_the_read() -> None:
    def fresh(before: Cluster, after: Cluster) -> bool:
        copies = {config_map["metadata"]["name"]: config_map for config_map in after.list("ConfigMap/v1")}
        known = {config_map["metadata"]["name"] for config_map in before.list("ConfigMap/v1")}
        size = str(before.get(KIND, "w")["spec"].get("size"))
        return all(copied["data"]["size"] == size for name, copied in copies.items() if name not in known)

    scenario = _of(Copies(), actions=[update(WIDGET, spec={"size": 3})], lag=1, properties=[always(fresh)])
    violation = _explained(scenario, "fresh").violation
    assert (
        "(step 4) after it had read Widget default/w at resourceVersion 3 in step 3, from its cache; user had changed "
        in (violation.sentence)
    )
    assert "spec.size of Widget default/w from absent to 3 at resourceVersion 4 (step 1)" in violation.sentence
    assert len(violation.culprits) == 2


class Ports(Controller):
    """Hands out ports from a counter, without a lock on the counter."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Take the next port."""
        widget = await api.get(self.kind, request)
        if widget.get("status"):
            return
        counter = await api.live.get("ConfigMap/v1", Key("default", "counter"))
        base = copy.deepcopy(counter)
        port = int(counter["data"]["next"])
        counter["data"]["next"] = str(port + 1)
        await api.patch(counter, merge_from(base))
        before = copy.deepcopy(widget)
        widget["status"] = {"port": port}
        await api.status.patch(widget, merge_from(before, lock=True))


def test_a_blind_write_of_the_same_value_is_at_fault() -> None:
    """Both write 8001, so nothing is overwritten; the ports are the same all the same."""
    other = {**WIDGET, "metadata": {**WIDGET["metadata"], "name": "x"}}
    counter = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "counter"}, "data": {"next": "8000"}}
    bounds = Bounds(lag=0, concurrent=2, faults=0, states=3_000)
    scenario = Scenario([Ports()], crds=[CRD], objects=[WIDGET, other, counter], bounds=bounds)
    document = _explained(scenario, "diverged", until_first=True)
    assert document.violation.sentence.endswith(" without a conflict")
    assert ", and the server accepted the patch of ConfigMap default/counter by ports#" in document.violation.sentence
    assert [document.steps[number - 1].call.name for number in document.violation.culprits] == ["counter"] * 2  # type: ignore[union-attr]
    assert document.violation.fix is not None
    assert document.violation.fix.text.startswith("lock the patch: merge_from(base, lock=True)")
    assert document.violation.fix.line is not None
    assert document.violation.fix.line.text == "await api.patch(counter, merge_from(base))"


# Final states


def test_a_diverged_final_state_is_shown_against_the_expected_one() -> None:
    document = _explained(SIGNED, "diverged")
    (difference,) = document.violation.difference
    assert (difference.object, difference.path) == ("Widget.example.com/v1 default/w", 'status.signed["first"]')
    assert (difference.got, difference.expected) == (None, "first")
    assert document.violation.sentence.startswith(
        'Widget default/w ends without "first" in status.signed: second wrote status.signed of Widget default/w without'
    )
    assert document.baseline is not None
    assert document.baseline[0] == document.steps[0]


def test_an_object_that_is_missing_in_the_end_is_named() -> None:
    document = _explained(WRONG, "diverged")
    assert document.violation.sentence.startswith("Widget default/w is missing in the end: deletes deleted Widget")
    assert [(difference.path, difference.got) for difference in document.violation.difference] == [("", None)]


def test_an_eventuality_that_does_not_hold_is_compared_with_a_run_in_which_it_does() -> None:
    def both(cluster: Cluster) -> bool:
        return sorted((cluster.get(KIND, "w").get("status") or {}).get("signed", [])) == ["first", "second"]

    scenario = Scenario(
        SIGNED.controllers,
        crds=[CRD],
        objects=[WIDGET],
        bounds=Bounds(faults=0, lag=0),
        guards=UNGUARDED,
        properties=[eventually(both)],
    )
    violation = _explained(scenario, "both").violation
    assert [difference.expected for difference in violation.difference] == ["first"]
    assert "second wrote status.signed of Widget default/w without" in violation.sentence


def test_an_eventuality_that_no_run_fulfils_says_so() -> None:
    def never(cluster: Cluster) -> bool:
        return "never" in cluster.get(KIND, "w")["spec"]

    violation = _explained(_of(Deletes(), properties=[eventually(never)]), "never").violation
    assert violation.sentence == (
        "everything has settled, and never does not hold, although nothing perturbs the run; nothing is ever written"
    )


class Cleans(Controller):
    """Deletes the ConfigMap of a widget that is switched off, if its cache has one."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Make the ConfigMap, or remove it."""
        widget = await api.get(self.kind, request)
        copies = await api.list("ConfigMap/v1", namespace="default")
        if widget["spec"].get("on") and not copies:
            await api.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "m"}}
            )
        elif not widget["spec"].get("on"):
            for copy in copies:
                await api.delete(copy)


ON = {**WIDGET, "spec": {"on": True}}


def test_a_write_that_is_missing_is_named_with_the_read_that_prevented_it() -> None:
    scenario = _of(Cleans(), objects=[ON], actions=[update(ON, spec={"on": False})], lag=1)
    violation = _explained(scenario, "diverged").violation
    assert violation.sentence.startswith(
        "ConfigMap default/m is left over in the end: this run lacks what the nearest good run does in its step "
    )
    assert ": cleans: delete ConfigMap/v1 default/m at test_causes.py:" in violation.sentence
    assert "cleans had read a list of ConfigMap objects without ConfigMap default/m in step" in violation.sentence
    assert violation.fix is not None
    assert violation.fix.line is not None
    assert "api.list" in violation.fix.line.text
    assert len(violation.culprits) == 2


class Records(Controller):
    """Creates a child under a generated name, then records the name."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create and record."""
        widget = await api.get(self.kind, request)
        if (widget.get("status") or {}).get("child"):
            return
        child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "c-", "namespace": "default"}}
        await api.create(child)
        base = copy.deepcopy(widget)
        widget["status"] = {"child": child["metadata"]["name"]}  # type: ignore[index]
        await api.status.patch(widget, merge_from(base, lock=True))


@pytest.mark.parametrize(
    ("faults", "text"),
    [
        ({"lost": 1, "failed": 0, "crashes": 0}, " by records was lost (step 3), after the server had carried it out"),
        ({"lost": 0, "failed": 0, "crashes": 1}, "records crashed in step "),
        ({"lost": 0, "failed": 1, "crashes": 0}, "the patch of Widget default/w/status by records failed with "),
    ],
)
def test_a_fault_is_named_with_what_had_been_done_by_then(faults: Any, text: str) -> None:
    bounds = Bounds(lag=0, faults=1, **faults)
    scenario = Scenario([Records()], crds=[CRD], objects=[WIDGET], bounds=bounds)
    violation = _explained(scenario, "diverged").violation
    assert "is left over in the end: records created it (step " in violation.sentence
    assert text in violation.sentence
    assert violation.fix is not None
    assert len(violation.culprits) >= 2
    if faults["crashes"]:
        assert ", after it had created ConfigMap default/c-" in violation.sentence
        assert "and before its next call, the patch of Widget default/w/status" in violation.sentence


class Marks(Controller):
    """Marks the work as done, then reports it in a second request."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Mark and report."""
        widget = await api.get(self.kind, request)
        if (widget.get("status") or {}).get("done"):
            return
        for name in ("done", "ready"):
            base = copy.deepcopy(widget)
            widget["status"] = {**(widget.get("status") or {}), name: True}
            await api.status.patch(widget, merge_from(base, lock=True))


@pytest.mark.parametrize("fault", ["crashes", "lost"])
def test_two_writes_with_a_fault_between_them_belong_into_one_request(fault: str) -> None:
    """Nothing is created, so names are not what helps."""
    faults: Any = {"lost": 0, "failed": 0, "crashes": 0, fault: 1}
    bounds = Bounds(lag=0, faults=1, **faults)
    scenario = Scenario([Marks()], crds=[CRD], objects=[WIDGET], bounds=bounds)
    violation = _explained(scenario, "diverged").violation
    assert "status.ready = absent instead of true" in violation.sentence
    assert violation.fix is not None
    assert "in one request" in violation.fix.text
    assert "derive the name" not in violation.fix.text


class Sizes(Controller):
    """Copies the size of a widget to its status, without a lock."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Copy."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        widget["status"] = {"size": widget["spec"].get("size", 0)}
        await api.status.patch(widget, merge_from(base, lock=False))


def test_a_late_write_is_explained_by_what_its_own_process_had_read() -> None:
    bounds = Bounds(lag=0, crashes=0, failed=0, lost=0, handovers=1)
    actions = [update(WIDGET, spec={"size": 2})]
    scenario = Scenario([Sizes()], crds=[CRD], objects=[WIDGET], actions=actions, bounds=bounds)
    document = _explained(scenario, "lost update")
    last = document.steps[-1]
    assert (last.action, last.response) == ("land", "200")
    assert last.writes[0].base == 3
    assert (
        "sizes wrote status.size = 0 to Widget default/w from resourceVersion 3 (read in step 2); sizes had changed it "
        in (document.violation.sentence)
    )
    assert "late patch Widget default/w/status: version" in render(document)


# Cycles


class TogglesOnceStale(Controller):
    """Toggles forever once it has seen a status without a size."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Toggle, or settle."""
        widget = await api.get(self.kind, request)
        live = await api.live.get(self.kind, request)
        if widget["spec"] != live["spec"] or "on" in (live.get("status") or {}):
            base = copy.deepcopy(live)
            live["status"] = {"on": not (live.get("status") or {}).get("on")}
            await api.status.patch(live, merge_from(base, lock=True))


def test_a_cycle_that_only_perturbed_runs_reach_is_shown_after_what_leads_there() -> None:
    scenario = _of(TogglesOnceStale(), actions=[update(WIDGET, spec={"size": 3})], lag=1)
    document = _explained(scenario, "never settles")
    assert document.violation.perturbations
    assert document.violation.cycle is not None
    assert document.violation.cycle.first > 3


def test_a_cycle_is_shown_once_with_what_is_written() -> None:
    document = _explained(_of(Toggles()), "never settles")
    cycle = document.violation.cycle
    assert cycle is not None
    assert (cycle.first, cycle.last) == (4, 9)
    assert [(write.path, write.before, write.after) for write in cycle.writes] == [
        ("status.on", True, False),
        ("status.on", False, True),
    ]
    assert document.violation.culprits == (6, 9)
    assert document.violation.sentence.startswith("steps 4 to 9 repeat forever: toggles changes status.on of Widget")


def test_a_cycle_with_other_values_in_every_round_is_as_short() -> None:
    document = _explained(_of(Sums()), "never settles")
    violation = document.violation
    assert violation.cycle is not None
    assert (violation.cycle.first, violation.cycle.last) == (4, 6)
    assert violation.sentence.startswith(
        "steps 4 to 6 repeat forever: sums changes metadata.annotations.sum of Widget default/w from "
    )
    assert violation.fix is not None
    assert "from the wanted state alone" in violation.fix.text
    assert len(document.steps) == 6


class Paints(Controller):
    """Gives a widget its colour."""

    kind = KIND
    color = ""

    async def reconcile(self, request: Request, api: Api) -> None:
        """Paint."""
        widget = await api.get(self.kind, request)
        if widget["spec"].get("color") != self.color:
            widget["spec"]["color"] = self.color
            await api.update(widget)


class Red(Paints):
    """Paints red."""

    color = "red"


class Blue(Paints):
    """Paints blue."""

    color = "blue"


def test_a_fight_between_two_controllers_is_named_although_generations_grow() -> None:
    violation = _explained(_of(Red(), Blue()), "never settles").violation
    assert {'from "red" to "blue"' in violation.sentence, 'from "blue" to "red"' in violation.sentence} == {True}
    assert violation.fix is not None
    assert "let only one of blue and red write spec.color" in violation.fix.text
    assert violation.cycle is not None
    assert violation.cycle.last - violation.cycle.first < 8


SHARED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared", "namespace": "default"}}


def _both(_event: object, _context: object) -> list[Request]:
    return [Request("default", "w"), Request("default", "x")]


class Claims(Controller):
    """Writes the name of the widget into one shared ConfigMap, at every change of that."""

    kind = KIND
    watches: ClassVar[Mapping[str, Any]] = {"ConfigMap/v1": _both}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Claim."""
        await api.get(self.kind, request)
        shared = await api.live.get("ConfigMap/v1", Key("default", "shared"))
        if (shared.get("data") or {}).get("owner") != request.name:
            shared["data"] = {"owner": request.name}
            await api.update(shared)


def test_one_controller_that_fights_for_two_objects_is_named_with_both() -> None:
    other = {**WIDGET, "metadata": {**WIDGET["metadata"], "name": "x"}}
    violation = _explained(_of(Claims(), objects=[WIDGET, other, SHARED]), "never settles").violation
    assert "claims for default/w changes data.owner of ConfigMap default/shared from " in violation.sentence
    assert "claims for default/x changes data.owner of ConfigMap default/shared from " in violation.sentence
    assert violation.fix is not None
    assert violation.fix.text.startswith(
        "let only one of claims for default/w and claims for default/x write data.owner"
    )


class Drops(Controller):
    """Writes its status, and drops a conflict."""

    kind = KIND
    memory = ("tried",)
    tried = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write once."""
        widget = await api.get(self.kind, request)
        if self.tried:
            return
        self.tried = True
        base = copy.deepcopy(widget)
        widget["status"] = {"phase": "Ready"}
        with contextlib.suppress(ApiError):
            await api.status.patch(widget, merge_from(base, lock=True))


def test_a_conflict_that_is_dropped_is_named_with_the_write_that_caused_it() -> None:
    violation = _explained(_of(Drops(), actions=[update(WIDGET, spec={"a": 1})], lag=1), "diverged").violation
    assert violation.sentence.startswith(
        'Widget default/w ends with status.phase = absent instead of "Ready": the server '
    )
    assert "refused the patch of Widget default/w/status by drops with 409 Conflict (step " in violation.sentence
    assert (
        "because user had changed spec.a of Widget default/w from absent to 1 at resourceVersion 4"
        in violation.sentence
    )
    assert violation.fix is not None
    assert violation.fix.text.startswith("let the conflict end the reconcile")
    assert len(violation.culprits) == 2


class DropsAfterLiveRead(Controller):
    """Writes the status of new widgets from a live read, and drops a conflict."""

    name = "drops"
    kind = KIND
    predicates: ClassVar[Mapping[str, Any]] = {KIND: GenerationChanged()}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write once."""
        widget = await api.live.get(self.kind, request)
        if widget.get("status"):
            return
        base = copy.deepcopy(widget)
        widget["status"] = {"phase": "Ready"}
        with contextlib.suppress(ApiError):
            await api.status.patch(widget, merge_from(base, lock=True))


class Tags(Controller):
    """Gives widgets a label."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Tag."""
        widget = await api.get(self.kind, request)
        if not widget["metadata"].get("labels"):
            base = copy.deepcopy(widget)
            widget["metadata"]["labels"] = {"tagged": "yes"}
            await api.patch(widget, merge_from(base))


def test_the_read_of_a_write_that_is_refused_is_shown_and_named() -> None:
    document = _explained(_of(DropsAfterLiveRead(), Tags()), "diverged")
    refused = document.violation.culprits[-1]
    (read,) = [step for step in document.steps if step.actor == "drops" and step.call and step.number < refused]
    assert f", and drops had read resourceVersion 3 (step {read.number}); " in document.violation.sentence
    lines = list(trace_lines(document.steps, document.violation))
    assert any(f" {read.number}  drops  get Widget default/w: version 3" in line for line in lines)
    assert sum("no-op reconcile" in line for line in lines) == 1  # of the reconciles after the refusal


class TriesAgain(Controller):
    """Connects to the size that it has read, and after a conflict stores that for the newer generation."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Connect."""
        widget = await api.get(self.kind, request)
        size, generation = widget["spec"].get("size"), widget["metadata"]["generation"]
        if (widget.get("status") or {}).get("observed") == generation:
            return
        try:
            widget["status"] = {"connected": size, "observed": generation}
            await api.status.update(widget)
        except Conflict:
            latest = await api.live.get(self.kind, request)
            latest["status"] = {"connected": size, "observed": latest["metadata"]["generation"]}
            await api.status.update(latest)


def test_a_second_attempt_after_a_conflict_is_at_fault_itself() -> None:
    widget = {**WIDGET, "spec": {"size": 1}}
    scenario = _of(TriesAgain(), objects=[widget], actions=[update(widget, spec={"size": 2})], lag=1)
    document = _explained(scenario, "diverged")
    violation = document.violation
    assert "; the reconcile then wrote status.connected = 1 to Widget default/w (step 6)" in violation.sentence
    assert violation.culprits == (1, 4, 6)
    assert violation.fix is not None
    assert violation.fix.text.startswith("after a conflict compute all that is written from what is read then")
    assert violation.fix.line is not None
    assert violation.fix.line.text == "await api.status.update(latest)"


class NewPod(Controller):
    """Sets a size at the start, whatever is there."""

    kind = KIND
    predicates: ClassVar[Mapping[str, Any]] = {KIND: GenerationChanged()}
    size = 2

    async def reconcile(self, request: Request, api: Api) -> None:
        """Set."""
        metadata = {"name": "sized", "namespace": request.namespace, "annotations": {"by": str(self.size)}}
        data = {"size": str(self.size)}
        await api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}, manager="pods")


class OldPod(NewPod):
    """Sets the size of an older version."""

    size = 1


def test_a_property_that_held_before_the_last_write_names_that_write() -> None:
    def is_new(cluster: Cluster) -> bool:
        return [config["data"]["size"] for config in cluster.list("ConfigMap/v1")] == ["2"]

    scenario = _of(NewPod(), OldPod(), properties=[eventually(is_new)])
    violation = _explained(scenario, "is_new").violation
    assert violation.sentence.endswith(
        '; it held until oldpod changed data.size of ConfigMap default/sized from "2" to "1" (step 4), which newpod '
        "had written in step 2"
    )
    assert violation.culprits == (2, 4)
    assert violation.fix is not None
    assert violation.fix.text.startswith("let only one of newpod and oldpod write ConfigMap default/sized; or ")


class CreatesAgain(Controller):
    """Creates a ConfigMap that is there already."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create."""
        metadata = {"name": "c", "namespace": request.namespace}
        await api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


def test_a_create_that_is_refused_is_shown_with_its_name() -> None:
    there = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
    document = _explained(_of(CreatesAgain(), objects=[WIDGET, there]), "fails forever")
    assert "create ConfigMap default/c: 409 AlreadyExists" in render(document)


class Looks(Controller):
    """Reads the widget and then its ConfigMap, and writes nothing."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Look."""
        await api.live.get(self.kind, request)
        with contextlib.suppress(ApiError):
            await api.live.get("ConfigMap/v1", Key("default", "none"))


def _no_op_steps(scenario: Scenario, schedule: list[Step]) -> list[int]:
    steps = StepWriter(SourceLines(Path())).steps(Trail(Model(scenario), schedule))
    return [step.number for step in steps if step.changes_nothing]


def test_a_reconcile_is_folded_unless_its_read_is_overtaken_or_it_is_in_flight() -> None:
    scenario = _of(Looks(), actions=[update(WIDGET, spec={"a": 1})])
    start, call = Step("start", 0, WIDGET_KEY), Step("call", 0, WIDGET_KEY)
    act = Step("act")
    assert _no_op_steps(scenario, [start, call, call, act]) == [1, 2, 3]
    assert _no_op_steps(scenario, [start, call]) == []  # in flight
    assert _no_op_steps(scenario, [start, call, act, call]) == []  # overtaken
    assert _no_op_steps(scenario, [start, act, call, call]) == [1, 3, 4]  # the read shows the change


def test_a_failure_that_never_ends_is_named() -> None:
    violation = _explained(_of(Fails()), "fails forever").violation
    assert violation.sentence.startswith(
        "fails raised RuntimeError: default/w fails at samples.py:54 in the reconcile of default/w"
    )
    assert violation.cycle is not None


# Exceptions


class Reads(Controller):
    """Expects a status."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read the phase."""
        widget = await api.get(self.kind, request)
        widget["status"]["phase"]


def test_an_exception_has_its_traceback_with_relative_paths_and_the_line_to_change() -> None:
    violation = _explained(_of(Reads()), "exception").violation
    assert violation.sentence.startswith("reads raised KeyError: 'status' at test_causes.py:")
    assert violation.traceback is not None
    assert violation.traceback.startswith('  File "tests/explore/explain/test_causes.py", line ')
    assert violation.fix is not None
    assert violation.fix.line is not None
    assert violation.fix.line.function == "reconcile"
    assert ".get('status')" in violation.fix.text


# The same cause, the same names


def test_violations_with_one_cause_are_reported_once_with_their_number() -> None:
    text = str(check(double_plan(Widgets(), lag=1, concurrent=2)))
    assert text.startswith(
        "lost update, one_plan: violated after 6 steps (shortest, 1 perturbation, 2 violations with one cause, "
        "found 2 times)\n"
    )
    assert text.count("violated after") == 1


@pytest.mark.parametrize("search", ["breadth", "depth", "random", "pct"])
def test_every_violation_of_every_search_is_explained(search: Any) -> None:
    for scenario in (double_plan(Widgets(), lag=1, concurrent=2), SIGNED, WRONG):
        for violation in check(scenario, search=search, walks=60).violations:
            document = explained(scenario, violation, origin_of(scenario), strict=True)
            assert document.violation.culprits
            assert render(document)


def test_an_atomic_reconcile_is_explained_by_its_calls() -> None:
    race = double_plan(Widgets(), lag=1, concurrent=2)
    document = _explained(replace(race, bounds=replace(race.bounds, atomic=True)), "lost update")
    assert document.violation.sentence.startswith("widgets#2 wrote status.plan.id = ")
    last = document.steps[-1]
    assert last.call is not None
    assert (last.action, last.call.verb) == ("start", "patch")
    assert [read.version for read in last.reads] == [3]


class Twice(Controller):
    """Writes its status in two places, both without a lock."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Count."""
        widget = await api.get(self.kind, request)
        status = widget.get("status") or {}
        base = copy.deepcopy(widget)
        if not status.get("first"):
            widget["status"] = {**status, "first": api.uuid()}
            await api.status.patch(widget, merge_from(base))
        elif not status.get("second"):
            widget["status"] = {**status, "second": api.uuid()}
            await api.status.patch(widget, merge_from(base))


TWICE = Scenario([Twice()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=1, concurrent=2), guards=UNGUARDED)


def test_violations_by_different_lines_are_reported_apart() -> None:
    verdict = check(TWICE)
    lost = [violation for violation in verdict.violations if violation.property == "lost update"]
    lines = {document.violation.fix.line.line for document in verdict.documents if document.violation.fix}  # type: ignore[union-attr]
    assert (len(lost), len(lines)) == (2, 2)
    assert str(verdict).count("lost update: violated after") == 2


def test_a_violation_that_is_found_often_says_how_often() -> None:
    violation = check(TWICE).violations[0]
    assert violation.count > 1
    assert f"found {violation.count} times" in str(check(TWICE))


@pytest.mark.parametrize("seed", range(6))
def test_traces_that_differ_only_in_who_is_number_one_are_one(seed: int) -> None:
    """Random walks start with any instance; the trace that is reported starts with the first."""
    race = double_plan(Widgets(), lag=0, concurrent=3)
    (violation,) = [
        violation
        for violation in check(race, search="random", seed=seed, walks=5).violations
        if violation.property == "one_plan"
    ]
    actors = list(dict.fromkeys(line.split()[0].rstrip(":") for line in violation.trace))
    assert actors == ["widgets#1", "widgets#2"]
    assert violation.sentence.startswith("one_plan is broken by widgets#")


class Keys(Controller):
    """Keeps a map for each widget, and deletes it when the widget is gone."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Apply or delete."""
        key = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "key", "namespace": "default"}}
        try:
            await api.get(self.kind, request)
        except NotFound:
            with contextlib.suppress(NotFound):
                await api.delete(key)
            return
        await api.apply(key)


def test_a_child_without_an_owner_asks_for_a_finalizer() -> None:
    """The owner is deleted while its controller is down, and nothing tells the next process of it."""
    bounds = Bounds(lag=0, faults=1, crashes=1, lost=0, failed=0)
    scenario = Scenario([Keys()], crds=[CRD], objects=[WIDGET], actions=[delete(WIDGET)], bounds=bounds)
    violation = _explained(scenario, "diverged").violation
    assert violation.sentence.startswith("ConfigMap default/key is left over in the end: ")
    assert "; keys crashed in step " in violation.sentence
    assert violation.fix is not None
    assert violation.fix.text == (
        "the owner was deleted without a finalizer of this controller: add one to Widget default/w before this create, "
        "and remove it when ConfigMap default/key is gone"
    )
    assert violation.fix.line is not None
    assert violation.fix.line.text == "await api.apply(key)"
