"""The strategy of a kind without rules of its own."""

from __future__ import annotations

from typing import Any

from kontend.kube.strategy import Strategy, WithSpecAndStatus, reset_metadata_for_status, take_over


def test_a_kind_without_rules_changes_nothing() -> None:
    obj = {"metadata": {"name": "x"}, "spec": {"a": 1}, "status": {"b": 2}}
    Strategy().prepare_for_create(obj)

    assert obj == {"metadata": {"name": "x"}, "spec": {"a": 1}, "status": {"b": 2}}


def test_a_kind_with_spec_and_status_starts_in_generation_one_without_a_status() -> None:
    obj = {"metadata": {"name": "x", "generation": 9}, "spec": {}, "status": {"b": 2}}
    WithSpecAndStatus().prepare_for_create(obj)

    assert obj == {"metadata": {"name": "x", "generation": 1}, "spec": {}, "status": {}}


def test_a_change_of_the_spec_is_a_new_generation_and_the_status_stays() -> None:
    old: dict[str, Any] = {"metadata": {"generation": 3}, "spec": {"a": 1}, "status": {"b": 1}}
    new: dict[str, Any] = {"metadata": {"generation": 3}, "spec": {"a": 2}, "status": {"b": 2}}
    WithSpecAndStatus().prepare("", new, old)

    assert new == {"metadata": {"generation": 4}, "spec": {"a": 2}, "status": {"b": 1}}


def test_a_write_to_the_status_keeps_the_spec_and_the_generation() -> None:
    old: dict[str, Any] = {"metadata": {"generation": 3}, "spec": {"a": 1}}
    new: dict[str, Any] = {"metadata": {"generation": 3}, "spec": {"a": 2}, "status": {"b": 2}}
    WithSpecAndStatus().prepare("status", new, old)

    assert new == {"metadata": {"generation": 3}, "spec": {"a": 1}, "status": {"b": 2}}


def test_taking_over_a_field_that_the_old_object_has_not_removes_it() -> None:
    new = {"a": 1, "b": 2}
    take_over(new, {"b": 3}, "a", "b")

    assert new == {"b": 3}


def test_metadata_that_a_subresource_may_not_write_is_reset() -> None:
    new = {"metadata": {"name": "x", "labels": {"a": "new"}, "annotations": {"b": "c"}, "managedFields": [1]}}
    reset_metadata_for_status(new, {"metadata": {"name": "x", "labels": {"a": "old"}}})

    assert new == {"metadata": {"name": "x", "labels": {"a": "old"}, "managedFields": [1]}}


def test_only_name_and_namespace_can_be_selected_by_default() -> None:
    strategy = Strategy()

    assert strategy.canonical_field_label("metadata.namespace") == "metadata.namespace"
    assert strategy.canonical_field_label("spec.replicas") is None
    assert strategy.field_labels({"metadata": {"name": "x"}}) == {"metadata.name": "x", "metadata.namespace": ""}
