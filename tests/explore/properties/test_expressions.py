"""Properties as CEL expressions: about all objects or each one of a kind, and false without a value."""

from __future__ import annotations

from typing import Any

import pytest

from explore.widgets import CRD, KIND, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import BadScenario
from kontend.explore.properties.expressions import property_of

SMALL: dict[str, Any] = {**WIDGET, "metadata": {"name": "small"}, "spec": {"size": 1}}
LARGE: dict[str, Any] = {**WIDGET, "metadata": {"name": "large"}, "spec": {"size": 9}}
CONFIG_MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}


def _answer(document: dict[str, Any], *objects: dict[str, Any], kinds: tuple[str, ...] = ()) -> bool:
    """The answer to the question of a property; for ``never``, to the question of what must not be."""
    return bool(property_of(document, "here", kinds).question(Cluster(crds=[CRD], objects=objects)))


@pytest.mark.parametrize(
    ("mode", "answers"),
    [
        ("always", [True, True, False, False]),
        ("eventually", [True, True, False, False]),
        ("never", [False, True, True, False]),
        ("sometimes", [False, True, True, False]),
    ],
)
def test_an_expression_about_a_kind_is_asked_of_each_object(mode: str, answers: list[bool]) -> None:
    document = {mode: "object.spec.size < 5", "kind": KIND}
    given: list[tuple[dict[str, Any], ...]] = [(), (SMALL,), (SMALL, LARGE), (LARGE,)]
    assert [_answer(document, *objects) for objects in given] == answers


def test_an_expression_about_all_objects_knows_the_kinds_that_it_names_and_those_of_the_scenario() -> None:
    named = {"always": f'objects["{KIND}"].size() == 2'}
    assert _answer(named, SMALL, LARGE)
    assert not _answer(named, SMALL)
    counted = {"always": "objects.all(kind, objects[kind].size() == 1)"}
    assert _answer(counted, SMALL, LARGE, CONFIG_MAP, kinds=("ConfigMap/v1",))
    assert not _answer(counted, SMALL, LARGE, CONFIG_MAP, kinds=("ConfigMap/v1", KIND))


@pytest.mark.parametrize("kind", [None, KIND])
def test_an_expression_without_a_value_or_with_one_that_is_no_truth_is_false(kind: str | None) -> None:
    root = "object" if kind else f'objects["{KIND}"][0]'
    about = {"kind": kind} if kind else {}
    assert _answer({"always": f"{root}.spec.size == 1", **about}, SMALL)
    assert not _answer({"always": f"{root}.status.size == 1", **about}, SMALL)
    assert not _answer({"always": f"{root}.spec.size", **about}, SMALL)


def test_a_kind_that_is_not_served_has_no_objects() -> None:
    assert _answer({"always": 'objects["Gadget.example.com/v1"].size() == 0'})
    assert not _answer({"never": "true", "kind": "Gadget.example.com/v1"})


def test_a_property_has_the_given_name_or_that_of_its_expression() -> None:
    assert property_of({"never": "1 == 2", "name": "odd"}, "here").name == "odd"
    unnamed = property_of({"never": "1 == 2"}, "here")
    assert unnamed.name == "1 == 2"
    assert unnamed.question.__doc__ == "1 == 2"


@pytest.mark.parametrize(
    "document",
    [
        "never",
        {},
        {"name": "x"},
        {"always": "true", "never": "false"},
        {"always": "true", "when": "later"},
    ],
)
def test_a_document_has_one_mode_and_nothing_unknown(document: Any) -> None:
    with pytest.raises(BadScenario, match="here: expected always, never, eventually or sometimes, with name and kind"):
        property_of(document, "here")


@pytest.mark.parametrize(("source", "kind"), [("object.spec", None), ("objects.size()", KIND), ("1 +", None)])
def test_an_expression_that_cannot_be_compiled_is_refused_with_its_place(source: str, kind: str | None) -> None:
    with pytest.raises(BadScenario) as refusal:
        property_of({"always": source, "kind": kind} if kind else {"always": source}, "here")
    assert str(refusal.value).startswith(f"here: {source}: ")


def test_an_expression_that_uses_before_is_about_a_write() -> None:
    shrinks = property_of({"never": f'before["{KIND}"].size() > objects["{KIND}"].size()'}, "here")
    two, one = (Cluster(crds=[CRD], objects=objects) for objects in ((SMALL, LARGE), (SMALL,)))
    assert shrinks.arity == 2
    assert shrinks.question(two, one)
    assert not shrinks.question(one, two)
    assert shrinks.has_answer is None


def test_only_what_is_judged_at_writes_knows_what_was_before() -> None:
    with pytest.raises(BadScenario, match="eventually is about a state; only always and never know what was before"):
        property_of({"eventually": f'before["{KIND}"].size() == 0'}, "here")


def test_an_expression_without_a_value_names_the_object_and_what_is_missing() -> None:
    prop = property_of({"always": "object.status.ready", "kind": KIND}, "here")
    assert prop.unanswered is not None
    assert prop.unanswered(Cluster(crds=[CRD], objects=[SMALL])) == (
        "object.status.ready has no value for Widget default/small (no such key: status), which counts as false; "
        "has(...) tests for a field"
    )
    assert prop.unanswered(Cluster(crds=[CRD])) == ""
