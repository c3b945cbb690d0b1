"""Predicates: which events count."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.runtime.predicates import (
    And,
    AnnotationChanged,
    Event,
    GenerationChanged,
    LabelChanged,
    Not,
    Or,
    Predicate,
    ResourceVersionChanged,
    Where,
)


def changed(**metadata: Any) -> Event:
    before = {"metadata": {"name": "a", "generation": 1, "resourceVersion": "1", "labels": {"x": "1"}}}
    return Event("Pod/v1", before, {"metadata": before["metadata"] | metadata})


@pytest.mark.parametrize(
    ("predicate", "metadata"),
    [
        (GenerationChanged(), {"generation": 2}),
        (ResourceVersionChanged(), {"resourceVersion": "2"}),
        (LabelChanged(), {"labels": {"x": "2"}}),
        (AnnotationChanged(), {"annotations": {"x": "2"}}),
    ],
)
def test_each_predicate_sees_its_own_part_and_no_other(predicate: Predicate, metadata: dict[str, Any]) -> None:
    assert predicate(changed(**metadata))
    others = {"generation": 2, "resourceVersion": "2", "labels": {"x": "2"}, "annotations": {"x": "2"}}
    for name in metadata:
        del others[name]
    assert not predicate(changed(**others))


@pytest.mark.parametrize(
    "predicate", [GenerationChanged(), ResourceVersionChanged(), LabelChanged(), AnnotationChanged()]
)
def test_creations_and_deletions_always_count(predicate: Predicate) -> None:
    obj = {"metadata": {"name": "a"}}
    assert predicate(Event("Pod/v1", None, obj))
    assert predicate(Event("Pod/v1", obj, None))


def test_predicates_combine() -> None:
    yes, no = Where(lambda _: True), Where(lambda _: False)
    event = changed()
    assert (yes & yes)(event)
    assert not (yes & no)(event)
    assert (no | yes)(event)
    assert not (no | no)(event)
    assert (~no)(event)
    assert And(yes, Or(no, Not(no)), yes)(event)


def test_an_event_knows_its_type_and_key() -> None:
    obj = {"metadata": {"name": "a", "namespace": "n"}}
    events = [Event("Pod/v1", None, obj), Event("Pod/v1", obj, obj), Event("Pod/v1", obj, None)]
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert {str(event.key) for event in events} == {"n/a"}


@pytest.mark.parametrize(("predicate", "part"), [(LabelChanged(), "labels"), (AnnotationChanged(), "annotations")])
def test_no_labels_and_empty_labels_are_the_same(predicate: Predicate, part: str) -> None:
    assert not predicate(Event("Pod/v1", {"metadata": {}}, {"metadata": {part: {}}}))
    assert not predicate(Event("Pod/v1", {"metadata": {part: None}}, {}))
    assert predicate(Event("Pod/v1", {}, {"metadata": {part: {"a": "b"}}}))
