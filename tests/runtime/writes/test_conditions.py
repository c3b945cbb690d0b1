"""Conditions: by type, with the times and the generation they should have, and never at the cost of others'."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.objects import WIDGET, definition, widget
from kontend.cluster.cluster import Cluster
from kontend.kube.errors import Conflict, InternalError, NotFound, WrongObject
from kontend.kube.schema.pruning import copy_json
from kontend.runtime.writes.conditions import (
    condition,
    get_condition,
    is_true,
    patch_conditions,
    remove_condition,
    set_condition,
)
from runtime.wire import Fault, run, wired

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
FOREIGN = {"type": "Foreign", "status": "True", "reason": "Theirs", "message": "", "lastTransitionTime": EARLY}
READY = condition("Ready", True, "AllUp")


def cluster(*conditions: dict[str, Any]) -> Cluster:
    fields: dict[str, Any] = {"status": {"conditions": list(conditions)}} if conditions else {}
    return Cluster(crds=[definition()], objects=[widget(spec={"size": 1}, **fields)])


def stored(server: Cluster) -> dict[str, dict[str, Any]]:
    return {
        condition["type"]: condition for condition in server.get(WIDGET, "w").get("status", {}).get("conditions", [])
    }


def add_foreign(server: Cluster, name: str = "Foreign") -> None:
    """Another controller sets its own condition, correctly."""
    others = server.get(WIDGET, "w").get("status", {}).get("conditions", [])
    kept = [other for other in others if other["type"] != name]
    conditions = [*kept, {**FOREIGN, "type": name, "message": server.resource_version}]
    server.patch(WIDGET, "w", {"status": {"conditions": conditions}}, subresource="status")


# In memory


def test_the_transition_time_changes_only_with_the_status() -> None:
    obj: dict[str, Any] = {}
    assert set_condition(obj, "Ready", "False", "Starting", now=EARLY)
    assert set_condition(obj, "Ready", "False", "Waiting", "for pods", now=LATE)
    assert get_condition(obj, "Ready") == {
        "type": "Ready", "status": "False", "reason": "Waiting", "message": "for pods", "lastTransitionTime": EARLY,
    }  # fmt: skip
    assert set_condition(obj, "Ready", "True", "AllUp", now=LATE)
    assert (get_condition(obj, "Ready") or {})["lastTransitionTime"] == LATE
    assert is_true(obj, "Ready")


def test_the_same_again_changes_nothing() -> None:
    obj: dict[str, Any] = {"metadata": {"generation": 2}}
    set_condition(obj, "Ready", True, "AllUp", now=EARLY)
    before = copy_json(obj)
    assert not set_condition(obj, "Ready", True, "AllUp", now=LATE)
    assert obj == before


def test_other_types_keep_their_place() -> None:
    obj: dict[str, Any] = {
        "status": {"conditions": [{"type": "A"}, {"type": "Ready", "status": "False"}, {"type": "B"}]}
    }
    set_condition(obj, "Ready", True, "AllUp", now=EARLY)
    assert [condition["type"] for condition in obj["status"]["conditions"]] == ["A", "Ready", "B"]
    assert obj["status"]["conditions"][0] == {"type": "A"}


def test_the_generation_is_that_of_the_object_as_it_was_read() -> None:
    obj: dict[str, Any] = {"metadata": {"generation": 4}}
    set_condition(obj, "Ready", True, "AllUp", now=EARLY)
    assert (get_condition(obj, "Ready") or {})["observedGeneration"] == 4
    set_condition(obj, "Other", True, "AllUp", now=EARLY, observed_generation=3)
    assert (get_condition(obj, "Other") or {})["observedGeneration"] == 3


def test_a_verdict_about_a_newer_generation_is_not_replaced() -> None:
    obj: dict[str, Any] = {"metadata": {"generation": 4}}
    set_condition(obj, "Ready", True, "AllUp", now=EARLY)
    assert not set_condition(obj, "Ready", False, "Old", now=LATE, observed_generation=3)
    assert is_true(obj, "Ready")


def test_a_condition_is_removed() -> None:
    obj: dict[str, Any] = {"status": {"conditions": [FOREIGN, dict(READY)]}}
    assert remove_condition(obj, "Ready")
    assert not remove_condition(obj, "Ready")
    assert obj["status"]["conditions"] == [FOREIGN]
    assert not is_true(obj, "Ready")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("", "True", "R"), "expected a type"),
        ((None, "True", "R"), "expected a type"),
        (("Ready", "true", "R"), "'True', 'False' or 'Unknown', found 'true'"),
        (("Ready", None, "R"), "'True', 'False' or 'Unknown'"),
        (("Ready", "True", ""), "expected a reason"),
        (("Ready", "True", None), "expected a reason"),
        (("Ready", "True", "R", None), "expected a message"),
    ],
)
def test_a_wrong_condition_is_refused(arguments: Any, complaint: str) -> None:
    obj: dict[str, Any] = {}
    with pytest.raises(WrongObject, match=complaint):
        set_condition(obj, *arguments, now=EARLY)
    assert obj == {}


@pytest.mark.parametrize("conditions", ["x", {"type": "Ready"}, ["Ready"], 3])
def test_conditions_that_are_none_are_refused(conditions: Any) -> None:
    with pytest.raises(WrongObject, match=r"status\.conditions: expected a list"):
        set_condition({"status": {"conditions": conditions}}, "Ready", True, "R", now=EARLY)


# On the wire


def test_one_locked_patch_with_the_conditions_and_nothing_else() -> None:
    server = cluster(FOREIGN)
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    version = obj["metadata"]["resourceVersion"]
    obj["status"]["in memory only"] = True
    assert run(patch_conditions(api, obj, [READY]))
    ready = {**READY, "lastTransitionTime": server.now, "observedGeneration": 1}
    assert wire.bodies == [
        {"metadata": {"resourceVersion": version}, "status": {"conditions": [FOREIGN, ready]}},
    ]
    assert obj == server.get(WIDGET, "w")


def test_what_is_stored_already_is_not_sent() -> None:
    server = cluster()
    api, wire = wired(server)
    obj = server.get(WIDGET, "w")
    run(patch_conditions(api, obj, [READY]))
    server.advance(60)
    assert not run(patch_conditions(api, obj, [READY]))
    assert len(wire.calls) == 1


def test_on_conflict_the_conditions_are_read_live_and_merged_by_type() -> None:
    server = cluster()
    api, wire = wired(server)
    stale = server.get(WIDGET, "w")
    wire.inner.lag(WIDGET)
    add_foreign(server)
    assert run(patch_conditions(api, stale, [READY]))
    assert [(call.verb, call.cached) for call in wire.calls] == [("patch", False), ("get", False), ("patch", False)]
    assert stored(server).keys() == {"Foreign", "Ready"}
    assert [condition["type"] for condition in stale["status"]["conditions"]] == ["Foreign", "Ready"]


def test_a_foreign_condition_that_was_removed_meanwhile_does_not_come_back() -> None:
    server = cluster(FOREIGN)
    api, _ = wired(server)
    stale = server.get(WIDGET, "w")
    server.patch(WIDGET, "w", {"status": {"conditions": []}}, subresource="status")
    run(patch_conditions(api, stale, [READY]))
    assert stored(server).keys() == {"Ready"}


def test_after_a_merge_the_generation_is_still_the_one_that_was_read() -> None:
    """The spec is newer now, but the reconcile has not read it: the condition must not claim so."""
    server = cluster()
    api, _ = wired(server)
    stale = server.get(WIDGET, "w")
    server.patch(WIDGET, "w", {"spec": {"size": 2}})
    run(patch_conditions(api, stale, [READY]))
    assert server.get(WIDGET, "w")["metadata"]["generation"] == 2
    assert stored(server)["Ready"]["observedGeneration"] == 1


def test_after_a_merge_the_object_keeps_the_version_that_was_read() -> None:
    """Later locked writes must carry the old version: they are computed from the old spec."""
    server = cluster()
    api, _ = wired(server)
    stale = server.get(WIDGET, "w")
    version = stale["metadata"]["resourceVersion"]
    server.patch(WIDGET, "w", {"spec": {"size": 2}})
    run(patch_conditions(api, stale, [READY]))
    assert (stale["metadata"]["resourceVersion"], stale["spec"]["size"]) == (version, 1)
    assert is_true(stale, "Ready")


def test_a_newer_verdict_on_the_server_is_not_replaced_by_an_older_one() -> None:
    server = cluster()
    api, wire = wired(server)
    stale = server.get(WIDGET, "w")
    server.patch(WIDGET, "w", {"spec": {"size": 2}})
    other, _ = wired(server)
    run(patch_conditions(other, server.get(WIDGET, "w"), [condition("Ready", False, "Resizing")]))
    assert not run(patch_conditions(api, stale, [READY]))
    assert len(wire.writes) == 1
    assert stored(server)["Ready"]["reason"] == "Resizing"
    assert not is_true(stale, "Ready")


def test_the_transition_time_is_judged_against_what_the_server_has() -> None:
    server = cluster()
    api, _ = wired(server)
    stale = server.get(WIDGET, "w")
    other, _ = wired(server)
    run(patch_conditions(other, server.get(WIDGET, "w"), [READY]))
    first = stored(server)["Ready"]["lastTransitionTime"]
    server.advance(60)
    run(patch_conditions(api, stale, [condition("Ready", True, "StillUp")]))
    assert (stored(server)["Ready"]["lastTransitionTime"], stored(server)["Ready"]["reason"]) == (first, "StillUp")


@pytest.mark.parametrize("attempts", [1, 2, 4])
def test_after_so_many_conflicts_it_gives_up_and_nothing_foreign_is_lost(attempts: int) -> None:
    server = cluster()
    rival = {call: (lambda: add_foreign(server)) for call in range(20)}
    api, wire = wired(server, at=rival)
    obj = server.get(WIDGET, "w")
    as_read = copy_json(obj)
    with pytest.raises(Conflict):
        run(patch_conditions(api, obj, [READY], attempts=attempts))
    assert len(wire.writes) == attempts
    assert obj == as_read
    assert stored(server).keys() == {"Foreign"}


def test_other_refusals_are_raised_unchanged_and_not_retried() -> None:
    server = cluster()
    refusal = InternalError("no")
    api, wire = wired(server, at={0: Fault(refusal)})
    obj = server.get(WIDGET, "w")
    with pytest.raises(InternalError) as raised:
        run(patch_conditions(api, obj, [READY]))
    assert raised.value is refusal
    assert len(wire.calls) == 1
    assert obj == server.get(WIDGET, "w")


def test_an_object_made_again_under_the_name_gets_no_condition() -> None:
    server = cluster()
    api, _ = wired(server)
    stale = server.get(WIDGET, "w")
    server.delete(WIDGET, "w")
    server.create(widget())
    with pytest.raises(Conflict):
        run(patch_conditions(api, stale, [READY]))
    assert stored(server) == {}
    server.delete(WIDGET, "w")
    with pytest.raises(NotFound):
        run(patch_conditions(api, stale, [READY]))


@pytest.mark.parametrize("conditions", [None, "Ready", READY, [None], ["Ready"], [{"type": "Ready"}]])
def test_wrong_conditions_are_refused_before_anything_is_sent(conditions: Any) -> None:
    server = cluster()
    api, wire = wired(server)
    with pytest.raises(WrongObject, match="condition"):
        run(patch_conditions(api, server.get(WIDGET, "w"), conditions))
    with pytest.raises(WrongObject, match="patch_conditions: expected an object"):
        run(patch_conditions(api, None, conditions))  # type: ignore[arg-type]
    assert wire.calls == []


# Any interleaving of two writers


@given(
    moments=st.lists(st.integers(0, 5), max_size=3, unique=True),
    names=st.lists(st.sampled_from(["Foreign", "Other", "Third"]), min_size=3, max_size=3),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_whenever_others_write_nothing_of_theirs_is_lost(moments: list[int], names: list[str]) -> None:
    server = cluster()
    rivals = {call: (lambda name=name: add_foreign(server, name)) for call, name in zip(moments, names, strict=False)}
    api, wire = wired(server, at=rivals)
    obj = server.get(WIDGET, "w")
    run(patch_conditions(api, obj, [READY]))
    happened = {name for call, name in zip(moments, names, strict=False) if call < len(wire.calls)}
    assert stored(server).keys() == {"Ready"} | happened


def test_what_another_instance_has_stored_meanwhile_is_shown_and_not_sent_again() -> None:
    server = cluster()
    api, wire = wired(server)
    stale = server.get(WIDGET, "w")
    run(patch_conditions(wired(server)[0], server.get(WIDGET, "w"), [READY]))
    assert not run(patch_conditions(api, stale, [READY]))
    assert [call.verb for call in wire.calls] == ["patch", "get"]
    assert is_true(stale, "Ready")


def test_a_kind_without_generations_has_conditions_without_them() -> None:
    obj: dict[str, Any] = {"metadata": {"name": "w"}}
    set_condition(obj, "Ready", True, "AllUp", now=EARLY)
    assert "observedGeneration" not in (get_condition(obj, "Ready") or {})
    server = Cluster(objects=[{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}])
    api, wire = wired(server)
    run(patch_conditions(api, server.get("Node/v1", "n"), [READY]))
    assert "observedGeneration" not in wire.bodies[0]["status"]["conditions"][0]


def test_a_condition_without_a_transition_time_gets_one() -> None:
    obj: dict[str, Any] = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Old"}]}}
    set_condition(obj, "Ready", True, "AllUp", now=LATE)
    assert (get_condition(obj, "Ready") or {})["lastTransitionTime"] == LATE
