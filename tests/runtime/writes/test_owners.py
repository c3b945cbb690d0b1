"""Owner references, in memory as in controller-runtime, and locked when ``mutate_object`` sends them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from cluster.objects import WIDGET, config_map, definition, widget
from kontend.cluster.cluster import Cluster
from kontend.kube.errors import Conflict, WrongObject
from kontend.kube.meta.accessors import controller_of, is_controlled_by, owner_references
from kontend.runtime.writes.owners import (
    AlreadyOwned,
    owner_reference,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from kontend.runtime.writes.spec import mutate_object
from runtime.wire import run, wired

MAP = "ConfigMap/v1"


def cluster() -> Cluster:
    return Cluster(crds=[definition()], objects=[widget("a"), widget("b"), config_map("c")])


@pytest.fixture
def server() -> Cluster:
    return cluster()


@pytest.mark.parametrize("function", [set_controller_reference, set_owner_reference, remove_owner_reference])
def test_they_are_plain_functions_that_send_nothing(function: Any) -> None:
    assert not inspect.iscoroutinefunction(function)
    assert next(iter(inspect.signature(function).parameters)) == "owner"


def test_a_child_in_hand_is_created_with_its_controller(server: Cluster) -> None:
    a = server.get(WIDGET, "a")
    child = config_map("new", metadata={"namespace": "default"})
    set_controller_reference(a, child)
    assert child["metadata"]["ownerReferences"] == [owner_reference(a, controller=True)]
    server.create(child)
    assert is_controlled_by(server.get(MAP, "new"), a)


def test_a_controller_is_set_and_removed_and_other_owners_stay(server: Cluster) -> None:
    a, b, child = server.get(WIDGET, "a"), server.get(WIDGET, "b"), server.get(MAP, "c")
    set_owner_reference(b, child)
    set_controller_reference(a, child)
    assert [reference["name"] for reference in owner_references(child)] == ["b", "a"]
    assert is_controlled_by(child, a)
    assert not is_controlled_by(child, b)
    remove_owner_reference(a, child)
    assert owner_references(child) == [owner_reference(b)]
    remove_owner_reference(b, child)
    assert "ownerReferences" not in child["metadata"]


def test_an_owner_becomes_the_controller_in_its_place(server: Cluster) -> None:
    a, b, child = server.get(WIDGET, "a"), server.get(WIDGET, "b"), server.get(MAP, "c")
    set_owner_reference(a, child)
    set_owner_reference(b, child)
    set_controller_reference(a, child)
    assert owner_references(child) == [owner_reference(a, controller=True), owner_reference(b)]


def test_a_second_controller_is_refused(server: Cluster) -> None:
    a, b, child = server.get(WIDGET, "a"), server.get(WIDGET, "b"), server.get(MAP, "c")
    set_controller_reference(a, child)
    with pytest.raises(AlreadyOwned, match="already controlled by Widget 'a'") as refused:
        set_controller_reference(b, child)
    assert refused.value.controller["uid"] == a["metadata"]["uid"]
    assert owner_references(child) == [owner_reference(a, controller=True)]


def test_an_owner_created_again_replaces_its_former_reference(server: Cluster) -> None:
    """As in controller-runtime, which compares group, kind and name, whatever the version."""
    former, child = server.get(WIDGET, "a"), server.get(MAP, "c")
    set_controller_reference(former, child)
    child["metadata"]["ownerReferences"][0]["apiVersion"] = "example.com/v1beta1"
    server.delete(WIDGET, "a")
    server.create(widget("a"))
    now = server.get(WIDGET, "a")
    assert not is_controlled_by(child, now)
    set_controller_reference(now, child)
    assert owner_references(child) == [owner_reference(now, controller=True)]


def test_a_reference_that_is_not_there_cannot_be_removed(server: Cluster) -> None:
    with pytest.raises(WrongObject, match="no reference to Widget 'a'"):
        remove_owner_reference(server.get(WIDGET, "a"), server.get(MAP, "c"))


def test_from_a_stale_snapshot_the_references_of_others_are_not_lost(server: Cluster) -> None:
    api, wire = wired(server)
    a, b = server.get(WIDGET, "a"), server.get(WIDGET, "b")
    stale, fresh = server.get(MAP, "c"), server.get(MAP, "c")
    assert run(mutate_object(api, fresh, lambda obj: set_owner_reference(b, obj)))
    assert not run(mutate_object(api, fresh, lambda obj: set_owner_reference(b, obj)))
    with pytest.raises(Conflict):
        run(mutate_object(api, stale, lambda obj: set_owner_reference(a, obj)))
    assert owner_references(server.get(MAP, "c")) == [owner_reference(b)]
    assert len(wire.calls) == 2
    assert run(mutate_object(api, fresh, lambda obj: remove_owner_reference(b, obj)))
    assert owner_references(server.get(MAP, "c")) == []


@pytest.mark.parametrize("function", [set_controller_reference, set_owner_reference])
def test_an_owner_in_another_namespace_is_refused(function: Any) -> None:
    server = Cluster(crds=[definition()], objects=[widget(metadata={"namespace": "other"}), config_map("c")])
    owner = server.get(WIDGET, "w", namespace="other")
    with pytest.raises(WrongObject, match="namespace 'other' and cannot own an object in namespace 'default'"):
        function(owner, server.get(MAP, "c"))
    with pytest.raises(WrongObject, match="cannot own an object in no namespace"):
        function(owner, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})


@pytest.mark.parametrize("owner", [None, {}, {"metadata": {}}, {"metadata": {"name": "a"}}, "a"])
@pytest.mark.parametrize("function", [set_controller_reference, set_owner_reference, remove_owner_reference])
def test_an_owner_that_was_not_read_is_refused(function: Any, owner: Any) -> None:
    child = cluster().get(MAP, "c")
    with pytest.raises(WrongObject, match="expected an object that was read"):
        function(owner, child)
    assert owner_references(child) == []


@pytest.mark.parametrize("obj", [None, "c", {"metadata": None}])
@pytest.mark.parametrize("function", [set_controller_reference, set_owner_reference, remove_owner_reference])
def test_an_object_that_is_none_is_refused(server: Cluster, function: Any, obj: Any) -> None:
    with pytest.raises(WrongObject, match=f"{function.__name__}: "):
        function(server.get(WIDGET, "a"), obj)


def test_an_object_without_references_has_no_controller() -> None:
    assert controller_of({}) is None
    assert controller_of({"metadata": {"ownerReferences": None}}) is None
    assert not is_controlled_by({"metadata": {"ownerReferences": [{"controller": True}]}}, {"metadata": {}})


def test_owners_of_one_name_in_two_groups_are_two_owners(server: Cluster) -> None:
    a, child = server.get(WIDGET, "a"), server.get(MAP, "c")
    other = {**a, "apiVersion": "other.example.com/v1"}
    set_owner_reference(a, child)
    set_owner_reference(other, child)
    assert owner_references(child) == [owner_reference(a), owner_reference(other)]
    set_controller_reference(a, child)
    with pytest.raises(AlreadyOwned, match=r"^ConfigMap/v1 'c' is already controlled by Widget 'a' "):
        set_controller_reference(other, child)
