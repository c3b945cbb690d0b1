"""Laws that hold for every object and every sequence of writes."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.objects import WIDGET, config_map, definition, deployment, widget
from kontend import ApiError, Cluster
from kontend.kube.patches.merge_patch import merge_patch_diff

_VALUES = st.text("abc", max_size=2)
_DATA = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), _VALUES, max_size=4)
# An empty map is not stored, so applying one is a conflict for whoever applies it second, in kube-apiserver too.
_SOME_DATA = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), _VALUES, min_size=1, max_size=4)
_SPECS = st.recursive(
    st.integers(0, 3) | _VALUES | st.booleans(),
    lambda inner: st.dictionaries(st.sampled_from(["p", "q", "r"]), inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
).map(lambda value: {"value": value})


@settings(derandomize=True, deadline=None, max_examples=60)
@given(_SPECS, _SPECS)
def test_a_merge_patch_made_from_two_objects_turns_the_first_into_the_second(old: Any, new: Any) -> None:
    """The patch of controller-runtime's MergeFrom has the effect that the caller meant."""
    cluster = Cluster(crds=[definition()])
    before = cluster.create(widget(spec=old))
    after = {**before, "spec": new}
    assert cluster.patch(WIDGET, "w", merge_patch_diff(before, after))["spec"] == new


@settings(derandomize=True, deadline=None, max_examples=60)
@given(_DATA)
def test_apply_is_idempotent(data: dict[str, str]) -> None:
    """The second apply of the same thing changes nothing, not even the version."""
    cluster = Cluster()
    first = cluster.apply(config_map(data=data), manager="m")
    assert cluster.apply(config_map(data=data), manager="m") == first


@settings(derandomize=True, deadline=None, max_examples=60)
@given(_DATA, _SOME_DATA)
def test_giving_everything_up_returns_to_what_others_own(mine: dict[str, str], theirs: dict[str, str]) -> None:
    """An applier that applies nothing any more leaves what the others applied."""
    cluster = Cluster()
    cluster.apply(config_map(data=theirs), manager="theirs")
    alone = cluster.get("ConfigMap/v1", "c")
    cluster.apply(config_map(data={**mine, **theirs}), manager="mine")
    cluster.apply(config_map(), manager="mine")
    left = cluster.get("ConfigMap/v1", "c")
    assert left.get("data") == alone.get("data")
    assert {entry["manager"] for entry in left["metadata"].get("managedFields", ())} <= {"theirs"}


def _random_writes(seed: int, steps: int = 60) -> Cluster:
    """A sequence of requests by several writers, chosen by a seeded generator."""
    choose = random.Random(seed)
    cluster = Cluster(crds=[definition()])
    for _ in range(steps):
        name = choose.choice("ab")
        manager = choose.choice(["one", "two"])
        obj = choose.choice(
            [
                widget(name, spec={"size": choose.randrange(3)}, metadata={"labels": {choose.choice("xy"): "1"}}),
                config_map(name, data={choose.choice("kl"): str(choose.randrange(3))}),
                deployment(name),
            ]
        )
        kind = (
            f"{obj['kind']}.{obj['apiVersion']}" if "/" in obj["apiVersion"] else f"{obj['kind']}/{obj['apiVersion']}"
        )
        action = choose.randrange(5)
        try:
            if action == 0:
                cluster.create(obj, manager=manager)
            elif action == 1:
                cluster.apply(obj, manager=manager, force=choose.random() < 0.5)
            elif action == 2:
                cluster.update(
                    {**obj, "metadata": {**cluster.get(kind, name)["metadata"], **obj["metadata"]}}, manager=manager
                )
            elif action == 3:
                cluster.patch(
                    kind, name, {"metadata": {"annotations": {"n": str(choose.randrange(3))}}}, manager=manager
                )
            else:
                cluster.delete(kind, name)
        except ApiError:
            continue
    return cluster


@settings(derandomize=True, deadline=None, max_examples=15)
@given(st.integers(0, 10_000))
def test_the_same_seed_gives_the_same_bytes(seed: int) -> None:
    """Two runs of the same writes are equal to the last byte of every version of every object."""
    first, second = (_random_writes(seed).state for _ in range(2))
    assert first.resource_version == second.resource_version
    assert list(first.kinds)
    assert set(first.kinds) == set(second.kinds)
    for kind in first.kinds:
        ours, theirs = first.objects(kind), second.objects(kind)
        assert {key: (version.body, version.digest) for key, version in ours.items()} == {
            key: (version.body, version.digest) for key, version in theirs.items()
        }


@settings(derandomize=True, deadline=None, max_examples=15)
@given(st.integers(0, 10_000))
def test_a_watch_from_the_start_rebuilds_what_a_list_shows(seed: int) -> None:
    """Applying all events in order gives the objects that are there in the end."""
    cluster = _random_writes(seed)
    start = str(Cluster(crds=[definition()]).state.resource_version)
    for kind in (WIDGET, "ConfigMap/v1", "Deployment.apps/v1"):
        seen: dict[str, Any] = {}
        for event in cluster.watch(kind, since=start):
            if event["type"] == "DELETED":
                del seen[event["object"]["metadata"]["name"]]
            else:
                seen[event["object"]["metadata"]["name"]] = event["object"]
        assert sorted(seen.items()) == [(obj["metadata"]["name"], obj) for obj in cluster.list(kind)]
