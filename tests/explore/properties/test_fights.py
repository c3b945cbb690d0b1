"""Fights: a controller that takes back what a user or another program has written."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend import Api, Controller, Request
from kontend.explore import Bounds, Scenario, Verdict, Writer, check, create, patch, update
from kontend.explore.scenario_documents import scenario_documents

CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "w", "namespace": "default"},
    "data": {"replicas": "1"},
}


class Holds(Controller):
    """Keeps ``replicas`` at 1, whoever changes it."""

    kind = "ConfigMap/v1"
    name = "holds"

    async def reconcile(self, request: Request, api: Api) -> None:
        config = await api.get(self.kind, request)
        if config["data"]["replicas"] != "1":
            config["data"]["replicas"] = "1"
            await api.update(config)


class MovesOn(Controller):
    """Answers what a user has asked for, and removes the annotation that asks."""

    kind = KIND
    name = "moves"

    async def reconcile(self, request: Request, api: Api) -> None:
        widget = await api.get(self.kind, request)
        if (widget.get("status") or {}).get("phase") == "Pending":
            widget["status"]["phase"] = "Running"
            await api.status.update(widget)
        elif (widget["metadata"].get("annotations") or {}).get("now"):
            widget["metadata"]["annotations"] = {"now": ""}
            await api.update(widget)


def explored(controller: Controller, objects: list[Any], **more: Any) -> Verdict:
    scenario = Scenario([controller], crds=[CRD], objects=objects, bounds=Bounds(), guards=UNGUARDED, **more)
    return check(scenario)


def fights(verdict: Verdict) -> list[str]:
    return [violation.sentence for violation in verdict.violations if violation.property == "fight"]


@pytest.mark.parametrize("who", ["user", "autoscaler"])
def test_taking_back_what_a_user_or_another_program_has_set_is_a_fight(who: str) -> None:
    changes = [update(CONFIG, data={"replicas": "4"})]
    given: Any = {"actions": changes} if who == "user" else {"writers": [Writer(who, changes)]}
    verdict = explored(Holds(), [CONFIG], **given)
    (sentence,) = fights(verdict)
    assert sentence.startswith(
        f"holds took back .data.replicas of ConfigMap default/w, which {who} had set and holds had read"
    )
    assert 'Scenario(enforced=["ConfigMap.data.replicas"])' in str(verdict)
    (violation,) = verdict.violations
    assert violation.perturbations == 0


class Applies(Controller):
    """Applies what it wants without a look at what is there."""

    kind = KIND
    name = "applies"
    watches: ClassVar[Mapping[str, Any]] = {"ConfigMap/v1": lambda *_: ["default/w"]}

    async def reconcile(self, request: Request, api: Api) -> None:
        del request
        await api.apply(copy.deepcopy(CONFIG))


def test_a_forced_apply_that_takes_back_what_another_program_has_set_is_a_fight() -> None:
    changes = [update(CONFIG, data={"replicas": "4"}, retry=True)]
    (sentence,) = fights(explored(Applies(), [WIDGET], writers=[Writer("autoscaler", changes)]))
    assert sentence.startswith(
        "applies took back .data.replicas of ConfigMap default/w, which autoscaler had set, by force: "
    )
    meant = explored(Applies(), [WIDGET], writers=[Writer("autoscaler", changes)], enforced=["ConfigMap.data"])
    assert not fights(meant)


CHILD = {
    **CONFIG,
    "metadata": {
        **CONFIG["metadata"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}],
    },
}


def test_a_person_who_edits_a_controlled_object_gives_way() -> None:
    """Operators put their children back; a program that sets the same field goes on and on."""
    changes = [update(CHILD, data={"replicas": "4"})]
    assert explored(Holds(), [CHILD], actions=changes).ok
    assert fights(explored(Holds(), [CHILD], writers=[Writer("autoscaler", changes)]))


class Reports(Controller):
    """Keeps the phase of a widget, whoever changes it."""

    kind = KIND
    name = "reports"

    async def reconcile(self, request: Request, api: Api) -> None:
        widget = await api.get(self.kind, request)
        if (widget.get("status") or {}).get("phase") != "Ready":
            widget["status"] = {"phase": "Ready"}
            await api.status.update(widget)


def test_a_person_who_edits_a_status_gives_way() -> None:
    widget = {**WIDGET, "status": {"phase": "Ready"}}
    changes = [patch(WIDGET, {"status": {"phase": "Failed"}}, subresource="status")]
    assert explored(Reports(), [widget], actions=changes).ok
    assert fights(explored(Reports(), [widget], writers=[Writer("reporter", changes)]))


@pytest.mark.parametrize("field", ["ConfigMap.data.replicas", "ConfigMap.data", "ConfigMap"])
def test_a_field_that_is_meant_to_be_held_is_no_fight(field: str) -> None:
    assert explored(Holds(), [CONFIG], actions=[update(CONFIG, data={"replicas": "4"})], enforced=[field]).ok


def test_the_name_of_a_field_is_not_the_beginning_of_another_one() -> None:
    verdict = explored(
        Holds(), [CONFIG], actions=[update(CONFIG, data={"replicas": "4"})], enforced=["ConfigMap.data.rep"]
    )
    assert fights(verdict)


def test_what_a_user_created_is_not_taken_back_when_it_is_changed() -> None:
    created = {**CONFIG, "data": {"replicas": "4"}}
    assert explored(Holds(), [], actions=[create(created)]).ok


def test_an_answer_to_a_user_is_no_fight() -> None:
    pending = patch(WIDGET, {"status": {"phase": "Pending"}}, subresource="status")
    assert not fights(explored(MovesOn(), [WIDGET], actions=[pending]))


def test_annotations_that_ask_once_may_be_taken_away() -> None:
    widget = {**WIDGET, "metadata": {**WIDGET["metadata"], "annotations": {"now": ""}}}
    assert not fights(explored(MovesOn(), [widget], actions=[update(WIDGET, metadata={"annotations": {"now": "1"}})]))


def test_a_field_is_enforced_in_yaml(tmp_path: Any) -> None:
    (tmp_path / "s.yaml").write_text("controllers: [deployment]\nenforced: [ConfigMap.data]\n")
    ((scenario, _),) = scenario_documents(tmp_path / "s.yaml").values()
    assert scenario.enforced == ["ConfigMap.data"]
