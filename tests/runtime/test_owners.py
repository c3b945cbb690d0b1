"""Owner references: by uid, locked, one controller."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.objects import WIDGET, config_map, definition, widget
from kontend.cluster.cluster import Cluster
from kontend.kube.errors import Conflict
from kontend.runtime.writes.owners import (
    AlreadyOwned,
    controller_of,
    is_controlled_by,
    owner_reference,
    owner_references,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from kontend.runtime.writes.snapshot import WrongObject
from runtime.wire import run, wired

MAP = "ConfigMap/v1"


def cluster() -> Cluster:
    return Cluster(crds=[definition()], objects=[widget("a"), widget("b"), config_map("c")])


def test_a_controller_is_set_and_removed_and_other_owners_stay() -> None:
    server = cluster()
    api, _ = wired(server)
    a, b, child = server.get(WIDGET, "a"), server.get(WIDGET, "b"), server.get(MAP, "c")
    assert run(set_owner_reference(api, child, b))
    assert run(set_controller_reference(api, child, a))
    assert child == server.get(MAP, "c")
    assert [each["name"] for each in owner_references(child)] == ["b", "a"]
    assert is_controlled_by(child, a)
    assert not is_controlled_by(child, b)
    assert run(remove_owner_reference(api, child, a))
    assert owner_references(server.get(MAP, "c")) == [owner_reference(b)]


def test_what_is_there_is_not_sent_again() -> None:
    server = cluster()
    api, wire = wired(server)
    a, child = server.get(WIDGET, "a"), server.get(MAP, "c")
    run(set_controller_reference(api, child, a))
    assert not run(set_controller_reference(api, child, a))
    assert not run(set_owner_reference(api, child, a))
    assert not run(remove_owner_reference(api, child, server.get(WIDGET, "b")))
    assert len(wire.calls) == 1
    assert is_controlled_by(child, a)


def test_an_owner_becomes_the_controller_in_its_place() -> None:
    server = cluster()
    api, _ = wired(server)
    a, child = server.get(WIDGET, "a"), server.get(MAP, "c")
    run(set_owner_reference(api, child, a))
    run(set_controller_reference(api, child, a))
    assert owner_references(server.get(MAP, "c")) == [owner_reference(a, controller=True)]


def test_a_second_controller_is_refused() -> None:
    server = cluster()
    api, wire = wired(server)
    a, b, child = server.get(WIDGET, "a"), server.get(WIDGET, "b"), server.get(MAP, "c")
    run(set_controller_reference(api, child, a))
    with pytest.raises(AlreadyOwned, match="already controlled by Widget 'a'") as refused:
        run(set_controller_reference(api, child, b))
    assert refused.value.controller["uid"] == a["metadata"]["uid"]
    assert len(wire.calls) == 1
    assert child == server.get(MAP, "c")


def test_an_owner_of_the_same_name_and_another_uid_is_another_owner() -> None:
    server = cluster()
    api, _ = wired(server)
    former, child = server.get(WIDGET, "a"), server.get(MAP, "c")
    run(set_controller_reference(api, child, former))
    server.delete(WIDGET, "a")
    server.create(widget("a"))
    now = server.get(WIDGET, "a")
    assert not is_controlled_by(child, now)
    with pytest.raises(AlreadyOwned):
        run(set_controller_reference(api, child, now))
    assert not run(remove_owner_reference(api, child, now))


def test_from_a_stale_snapshot_the_references_of_others_are_not_lost() -> None:
    server = cluster()
    api, _ = wired(server)
    a, b = server.get(WIDGET, "a"), server.get(WIDGET, "b")
    stale, fresh = server.get(MAP, "c"), server.get(MAP, "c")
    run(set_owner_reference(api, fresh, b))
    with pytest.raises(Conflict):
        run(set_owner_reference(api, stale, a))
    assert owner_references(server.get(MAP, "c")) == [owner_reference(b)]


def test_an_owner_in_another_namespace_is_refused() -> None:
    server = Cluster(crds=[definition()], objects=[widget(metadata={"namespace": "other"}), config_map("c")])
    api, wire = wired(server)
    owner = server.get(WIDGET, "w", namespace="other")
    with pytest.raises(WrongObject, match="namespace 'other'"):
        run(set_owner_reference(api, server.get(MAP, "c"), owner))
    assert wire.calls == []


@pytest.mark.parametrize("owner", [None, {}, {"metadata": {}}, {"metadata": {"name": "a"}}, "a"])
def test_an_owner_that_was_not_read_is_refused(owner: Any) -> None:
    server = cluster()
    api, wire = wired(server)
    for write in (set_controller_reference, set_owner_reference, remove_owner_reference):
        with pytest.raises(WrongObject, match="expected an object that was read"):
            run(write(api, server.get(MAP, "c"), owner))
    assert wire.calls == []


def test_an_object_without_references_has_no_controller() -> None:
    assert controller_of({}) is None
    assert controller_of({"metadata": {"ownerReferences": None}}) is None
    assert not is_controlled_by({"metadata": {"ownerReferences": [{"controller": True}]}}, {"metadata": {}})
