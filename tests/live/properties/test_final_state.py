"""Masks of final states."""

from __future__ import annotations

from typing import Any

from kontend import Cluster
from kontend.cluster.state import State
from kontend.explore.properties.overwrites import path_text
from kontend.live.properties.final_state import differences
from kontend.live.properties.learning import learn
from kontend.live.properties.masking import comparable


def config_map(name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **fields}


def generated(prefix: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": prefix}, **fields}


def state_of(initial: State, *objects: dict[str, Any]) -> State:
    cluster = Cluster()
    cluster.state = initial
    for obj in objects:
        cluster.create(obj)
    return cluster.state


def test_generated_names_uids_and_times_do_not_count() -> None:
    initial = Cluster().state
    one = state_of(initial, generated("a-", data={"at": "2026-01-01T00:00:00Z"}))
    other = state_of(initial, config_map("x"), generated("a-", data={"at": "2027-03-04T05:06:07.123Z"}))
    found = differences(comparable(initial, other), comparable(initial, one))
    assert [difference.place.title for difference in found] == ["configmaps default/x"]


def test_one_generated_object_too_many_is_a_difference() -> None:
    initial = Cluster().state
    one = state_of(initial, generated("a-"))
    two = state_of(initial, generated("a-"), generated("a-"))
    assert len(differences(comparable(initial, two), comparable(initial, one))) == 1
    assert len(differences(comparable(initial, one), comparable(initial, two))) == 1


def test_an_owner_that_is_gone_differs_from_one_that_is_there() -> None:
    initial = Cluster().state
    owner = state_of(initial, config_map("owner"))
    uid = Cluster()
    uid.state = owner
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "", "controller": True}

    def child(of: str) -> dict[str, Any]:
        made = config_map("child")
        made["metadata"]["ownerReferences"] = [{**reference, "uid": of}]
        return made

    right = state_of(owner, child(uid.get("ConfigMap/v1", "owner")["metadata"]["uid"]))
    wrong = state_of(owner, child("11111111-0000-4000-8000-000000000001"))
    found = differences(comparable(initial, wrong), comparable(initial, right))
    assert found[0].place.title == "configmaps default/child"


def test_made_up_values_are_learned_and_decisions_are_not() -> None:
    initial = Cluster().state
    one = state_of(initial, config_map("c", data={"token": "x7f3kq", "phase": "Ready"}))
    other = state_of(initial, config_map("c", data={"token": "b42mzz", "phase": "Lost!"}))
    mask = learn(initial, [one, other])
    found = differences(comparable(initial, other, mask), comparable(initial, one, mask))
    assert [path_text(difference.place.path) for difference in found] == [".data.phase"]


def test_names_that_a_process_makes_up_are_learned() -> None:
    initial = Cluster().state
    one = state_of(initial, config_map("job-8f2a1"), config_map("fixed"))
    other = state_of(initial, config_map("job-77bcd"), config_map("fixed"))
    mask = learn(initial, [one, other])
    assert differences(comparable(initial, other, mask), comparable(initial, one, mask)) == []


def test_a_seeded_object_that_is_still_there_is_missed_where_it_was_deleted() -> None:
    initial = state_of(Cluster().state, config_map("seed"))
    cluster = Cluster()
    cluster.state = initial
    cluster.delete("ConfigMap/v1", "seed")
    found = differences(comparable(initial, initial), comparable(initial, cluster.state))
    assert [difference.place.title for difference in found] == ["configmaps default/seed"]


def test_a_resource_version_in_a_label_is_learned_and_a_number_that_none_has_is_not() -> None:
    initial = Cluster().state

    def labelled(before: int, size: str) -> State:
        cluster = Cluster(state=initial)
        for number in range(before):
            cluster.create(config_map(f"c-{number}"))
            cluster.delete("ConfigMap/v1", f"c-{number}")
        owner = cluster.create(config_map("owner"))
        version = owner["metadata"]["resourceVersion"]
        cluster.create(config_map("child", data={"owner-rv": version, "size": size}))
        for number in range(9 - before):
            cluster.create(config_map(f"d-{number}"))
            cluster.delete("ConfigMap/v1", f"d-{number}")
        return cluster.state

    mask = learn(initial, [labelled(0, "1"), labelled(3, "2")])
    assert [field for _, field in mask.fields] == [("data", "owner-rv")]
