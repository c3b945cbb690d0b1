"""Leaks: objects that wait forever for a finalizer."""

from __future__ import annotations

from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend import add_finalizer, remove_finalizer
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, Verdict, check, create, delete, update
from kontend.explore.actions import Action
from kontend.explore.properties.leaks import Leaks
from kontend.kube.errors import NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request

NAME = "example.com/widgets"


class Finalizes(Controller):
    """Adds a finalizer, and removes it when the widget is deleted."""

    kind = KIND
    removes = True

    async def reconcile(self, request: Request, api: Api) -> None:
        try:
            widget = await api.get(KIND, request)
        except NotFound:
            return
        if not widget["metadata"].get("deletionTimestamp"):
            if add_finalizer(widget, NAME):
                await api.update(widget)
        elif self.removes and remove_finalizer(widget, NAME):
            await api.update(widget)


class Forgets(Finalizes):
    """Never removes it."""

    removes = False


def _verdict(controller: Controller, widget: dict[str, Any]) -> Any:
    bounds = Bounds(lag=0, faults=0)
    return check(Scenario([controller], crds=[CRD], objects=[widget], actions=[delete(widget)], bounds=bounds))


def test_a_finalizer_that_no_controller_removes_is_a_leak() -> None:
    verdict = _verdict(Forgets(), WIDGET)
    assert [violation.property for violation in verdict.violations] == ["leak"]
    assert f"no controller removes its finalizer {NAME}" in verdict.violations[0].sentence
    assert "leak: violated" in str(verdict)


def test_a_finalizer_that_is_removed_is_none() -> None:
    assert _verdict(Finalizes(), WIDGET).ok


@pytest.mark.parametrize("name", ["other.example.com/kept", "foregroundDeletion"])
def test_a_finalizer_of_somebody_else_is_none(name: str) -> None:
    widget = {**WIDGET, "metadata": {**WIDGET["metadata"], "finalizers": [name]}}
    assert _verdict(Finalizes(), widget).ok


def _named(name: str) -> dict[str, Any]:
    return {**WIDGET, "metadata": {**WIDGET["metadata"], "name": name}}


def _waiting(name: str) -> Cluster:
    """A cluster in which a widget that is being deleted waits for a finalizer of this name."""
    cluster = Cluster(crds=[CRD], objects=[WIDGET])
    cluster.patch(KIND, "w", {"metadata": {"finalizers": [name]}})
    cluster.delete(KIND, "w")
    return cluster


@pytest.mark.parametrize("name", ["foregroundDeletion", "orphan"])
def test_the_garbage_collector_need_not_take_part(name: str) -> None:
    initial = Cluster(crds=[CRD], objects=[WIDGET]).state
    assert list(Leaks(initial).of(_waiting(name).state)) == []


def test_a_leak_names_the_object_and_all_finalizers_that_are_left() -> None:
    cluster = Cluster(crds=[CRD], objects=[WIDGET])
    initial = cluster.state
    cluster.patch(KIND, "w", {"metadata": {"finalizers": [NAME, "orphan", "example.com/other"]}})
    cluster.delete(KIND, "w")
    (leak,) = Leaks(initial).of(cluster.state)
    assert "Widget default/w is still being deleted" in leak.sentence
    assert leak.sentence.endswith(f"finalizer {NAME}, example.com/other")


def test_every_leak_is_found_among_other_objects() -> None:
    names = [f"w{number}" for number in range(12)]
    cluster = Cluster(crds=[CRD], objects=[_named(name) for name in names])
    initial = cluster.state
    for name in names[:8]:
        cluster.patch(KIND, name, {"metadata": {"finalizers": [NAME]}})
        cluster.delete(KIND, name)
    before = cluster.state
    for name in names[:4]:
        cluster.patch(KIND, name, {"metadata": {"labels": {"a": "b"}}})
    leaks = [finding.sentence for finding in Leaks(initial, untouched=before).of(cluster.state)]
    assert sorted(sentence.partition("default/")[2].partition(" ")[0] for sentence in leaks) == names[:4]


def _in_parts(controller: Controller, *actions: Action) -> Verdict:
    bounds = Bounds(lag=0, faults=0)
    verdict = check(Scenario([controller], crds=[CRD], objects=[WIDGET], actions=actions, bounds=bounds))
    assert "explored as 2 parts that have nothing to do with each other" in verdict.notes
    return verdict


def _kept(finalizer: str) -> dict[str, Any]:
    widget = _named("v")
    return {**widget, "metadata": {**widget["metadata"], "finalizers": [finalizer]}}


def test_a_leak_is_found_although_a_user_has_made_an_object_with_the_same_finalizer_before() -> None:
    verdict = _in_parts(Forgets(), create(_kept(NAME)), delete(WIDGET))
    assert [violation.property for violation in verdict.violations] == ["leak"]
    assert "Widget default/w is still being deleted" in verdict.violations[0].sentence


def test_a_leak_of_one_part_is_none_of_a_part_that_begins_after_it() -> None:
    kept = _kept("example.com/other")
    verdict = _in_parts(Finalizes(), create(kept), delete(kept), update(WIDGET, spec={"size": 2}))
    assert [violation.property for violation in verdict.violations] == ["leak"]
    assert "Widget default/v is still being deleted" in verdict.violations[0].sentence


def test_an_object_that_is_not_being_deleted_is_no_leak() -> None:
    cluster = Cluster(crds=[CRD], objects=[WIDGET])
    initial = cluster.state
    mentioned = {"finalizers": [NAME], "annotations": {"deletionTimestamp": "soon"}}
    cluster.patch(KIND, "w", {"metadata": mentioned})
    assert list(Leaks(initial).of(cluster.state)) == []
    cluster.delete(KIND, "w")
    assert [finding.property for finding in Leaks(initial).of(cluster.state)] == ["leak"]


def test_an_object_that_no_run_has_touched_is_no_leak() -> None:
    initial, cluster = Cluster(crds=[CRD], objects=[WIDGET]).state, _waiting(NAME)
    before = cluster.state
    assert list(Leaks(initial, untouched=before).of(cluster.state)) == []
    cluster.patch(KIND, "w", {"metadata": {"labels": {"a": "b"}}})
    assert len(list(Leaks(initial, untouched=before).of(cluster.state))) == 1
    assert len(list(Leaks(initial).of(before))) == 1
