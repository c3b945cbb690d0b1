"""An element of a list that is missing, extra or different is one line, with what decides first."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.explore import Bounds, Scenario, check, update
from kontend.explore.explain.explanation import explained, origin_of
from kontend.explore.explain.fields import ABSENT, changed_paths, field_changes, text_of, value_of
from kontend.predicates import GenerationChanged
from kontend.report.document import Document
from kontend.report.text import difference_lines, trace_lines
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request
from kontend.runtime.writes.conditions import set_condition

READY = {"type": "Ready", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
DOWN = {**READY, "status": "False", "reason": "Down", "lastTransitionTime": "2026-01-02T00:00:00Z"}
CONTAINERS = [{"name": "web", "image": "web:1"}]


def _status(*conditions: Mapping[str, Any]) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": "Audited", "status": "True"}, *conditions]}}


def test_an_element_that_only_one_object_has_is_one_field_and_stamps_come_last() -> None:
    assert [text_of(path) for path in changed_paths(_status(), _status(READY))] == ["status.conditions[type=Ready]"]
    assert [text_of(path) for path in changed_paths(_status(READY), _status())] == ["status.conditions[type=Ready]"]
    assert [text_of(path) for path in changed_paths(_status(READY), {**_status(DOWN), "z": 1})] == [
        "status.conditions[type=Ready].status",
        "status.conditions[type=Ready].reason",
        "z",
        "status.conditions[type=Ready].lastTransitionTime",
    ]


def test_values_are_found_by_the_text_of_any_path() -> None:
    old, new = _status(READY), {**_status(DOWN), "metadata": {"labels": {"a/b": "c"}, "finalizers": ["x.y/z"]}}
    for change in field_changes(old, new):
        assert value_of(new, change.path) == change.after
    assert value_of(new, 'metadata.labels["a/b"]') == "c"
    assert value_of(new, 'metadata.finalizers["x.y/z"]') == "x.y/z"
    assert value_of(new, "status.conditions[type=Read]") is ABSENT
    assert value_of(new, "status.conditions[type=Ready].status.more") is ABSENT


class Reports(Controller):
    """Replaces the conditions with a list from its cache."""

    kind = KIND
    predicates: ClassVar[Mapping[str, Any]] = {KIND: GenerationChanged()}
    type = "Ready"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Report."""
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        if set_condition(widget, self.type, True, "Up", now=api.now()):
            await api.status.patch(widget, merge_from(base))


class Audits(Reports):
    """Does the same with another condition."""

    type = "Audited"


class Upgrades(Controller):
    """Writes the containers of its cache with one more."""

    kind = KIND
    predicates: ClassVar[Mapping[str, Any]] = {KIND: GenerationChanged()}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Upgrade."""
        widget = await api.get(self.kind, request)
        containers = widget["spec"]["containers"]
        if len(containers) == 1:
            base = copy.deepcopy(widget)
            containers.append({"name": "sidecar", "image": "sidecar:1"})
            await api.patch(widget, merge_from(base))


def _diverged(scenario: Scenario) -> Document:
    (violation,) = [violation for violation in check(scenario).violations if violation.property == "diverged"]
    return explained(scenario, violation, origin_of(scenario), strict=True)


def test_a_condition_that_is_missing_in_the_end_is_one_line() -> None:
    document = _diverged(
        Scenario([Reports(), Audits()], crds=[CRD], objects=[WIDGET], guards=UNGUARDED, bounds=Bounds(faults=0))
    )
    assert document.violation.sentence.startswith(
        'Widget default/w ends without status.conditions[type=Ready], which should be {"status":"True","reason":"Up",'
    )
    (missing,) = document.violation.difference
    assert (missing.path, missing.got) == ("status.conditions[type=Ready]", None)
    _, name, line = difference_lines(document.violation.difference)
    assert name.strip() == f"{KIND} default/w"
    assert line.startswith('    -   status.conditions[type=Ready]: {"status":"True","reason":"Up",')
    lines = [line.strip() for line in trace_lines(document.steps, document.violation)]
    assert [line.partition(": ")[0] for line in lines if line.startswith("status.conditions[")] == [
        "status.conditions[type=Audited]",
        "status.conditions[type=Ready]",
    ]


def test_a_container_that_differs_in_several_fields_is_one_line() -> None:
    widget = {**WIDGET, "spec": {"containers": CONTAINERS}}
    wanted = [{"name": "web", "image": "web:2", "args": ["now"]}]
    document = _diverged(
        Scenario(
            [Upgrades()],
            crds=[CRD],
            objects=[widget],
            actions=[update(widget, spec={"containers": wanted})],
            guards=UNGUARDED,
            bounds=Bounds(faults=0),
        )
    )
    assert document.violation.sentence.startswith(
        'Widget default/w ends with spec.containers[name=web] = {"image":"web:1"} instead of '
        '{"args":["now"],"image":"web:2"}: upgrades wrote '
    )
    assert list(difference_lines(document.violation.difference))[1:] == [
        f"    {KIND} default/w",
        '    -   spec.containers[name=web]: {"args":["now"],"image":"web:2"}',
        '    +   spec.containers[name=web]: {"image":"web:1"}',
    ]
