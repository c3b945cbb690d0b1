"""Keys of states: equal where the futures are, whatever the resourceVersions."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from explore.widgets import CRD, KIND, WIDGET, LockedWidgets, Widgets, double_plan
from kontend.cluster.cluster import Cluster
from kontend.explore import Reductions, update
from kontend.explore.model.model import Model
from kontend.explore.model.state.key import content_digest, exact_digest, is_current, issued_after, sum_after, sum_of
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.kube.meta.names import Key

W = Key("default", "w")


def _after(model: Model, *steps: Step) -> World:
    world = model.initial()
    for step in steps:
        assert step in model.steps(world)
        world = model.next(world, step).world
    return world


def _instance(index: int, calls: int) -> list[Step]:
    return [Step("start", index, W), *[Step("call", index, W)] * calls]


def test_instances_of_one_controller_are_interchangeable() -> None:
    scenario = double_plan(LockedWidgets(), lag=1, concurrent=2)
    for symmetry in (True, False):
        model = Model(replace(scenario, reductions=Reductions(symmetry=symmetry)))
        one, other = (model.key(_after(model, *_instance(index, 1))) for index in (0, 1))
        assert (one == other) is symmetry


def test_independent_steps_lead_to_one_state_in_either_order() -> None:
    model = Model(double_plan(LockedWidgets(), lag=1, concurrent=2))
    one = _after(model, *_instance(0, 1), *_instance(1, 1))
    other = _after(model, Step("start", 1, W), Step("start", 0, W), Step("call", 1, W), Step("call", 0, W))
    assert model.key(one) == model.key(other)


def test_numbers_of_versions_do_not_count_unless_code_can_tell() -> None:
    """Two users' labels, set and reset: the same objects with other resourceVersions."""
    actions = [update(WIDGET, metadata={"labels": {"a": value}}) for value in ("1", None, "1", None)]
    scenario = replace(double_plan(Widgets(), lag=0), actions=actions)
    model = Model(scenario)
    key_of = model.layout.keys

    def sums(world: World) -> tuple[int, int]:
        return sum_of(world.state, content_digest), sum_of(world.state, exact_digest)

    first, second = _after(model, *[Step("act")] * 2), _after(model, *[Step("act")] * 4)
    assert sums(first)[0] == sums(second)[0]
    assert sums(first)[1] != sums(second)[1]
    assert key_of.of_process(first, 0) == key_of.of_process(second, 0)
    assert model.key(first) != model.key(second)  # the user has more to do in one of them


def test_undelivered_events_count() -> None:
    model = Model(replace(double_plan(Widgets(), lag=1), actions=[update(WIDGET, metadata={"labels": {"a": "1"}})]))
    world = _after(model, Step("act"))
    delivered = _after(model, Step("act"), Step("deliver", 0, KIND))
    assert model.key(world) != model.key(delivered)


def test_a_version_that_was_read_is_found_again_among_the_undelivered_events() -> None:
    scenario = replace(double_plan(Widgets(), lag=2), actions=[update(WIDGET, metadata={"labels": {"a": "1"}})])
    model = Model(scenario)
    keys = model.layout.keys
    for steps, which in (([*_instance(0, 1)], -1), ([*_instance(0, 1), Step("act")], 0)):
        world = _after(model, *steps)
        process = world.processes[0]
        (met,) = process.instances[0].running[0].versions
        assert keys.which_version(world.state, 0, process, met) == which
        assert keys.version_at(world.state, 0, process, (*met[:2], which)) == met


def test_queues_and_memory_count() -> None:
    model = Model(double_plan(Widgets(), lag=1))
    world = model.initial()
    instance = world.instances[0]
    others = [
        instance.changed(queue=frozenset()),
        instance.changed(delayed=frozenset({W})),
        instance.changed(memory=b'{"a":1}'),
        instance.changed(bugs=frozenset({(W, "KeyError x.py:1", 1)})),
    ]
    keys = {model.key(world), *(model.key(world.with_instance(0, other)) for other in others)}
    assert len(keys) == 1 + len(others)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2", None])), max_size=6))
def test_the_sum_of_a_cluster_is_kept_up_to_date(changes: list[tuple[str, str | None]]) -> None:
    cluster = Cluster(crds=[CRD], objects=[WIDGET])
    for digest in (content_digest, exact_digest):
        total = sum_of(cluster.state, digest)
        before = cluster.state
        for name, value in changes:
            cluster.patch(KIND, "w", {"metadata": {"labels": {name: value}}})
        total = sum_after(total, cluster.state.changes_since(before.resource_version), digest)
        assert total == sum_of(cluster.state, digest)


def test_the_sum_of_issued_identities_depends_on_the_counts_alone() -> None:
    one = issued_after(issued_after(issued_after(0, "a", 0, 1), "b", 0, 1), "a", 1, 2)
    other = issued_after(issued_after(0, "a", 0, 2), "b", 0, 1)
    assert one == other
    assert issued_after(one, "b", 1, 0) == issued_after(0, "a", 0, 2)
    assert one != issued_after(issued_after(0, "b", 0, 2), "a", 0, 1)


def test_a_version_is_current_until_the_object_changes_or_goes() -> None:
    cluster = Cluster(crds=[CRD], objects=[WIDGET])
    resource, key = "widgets.example.com", Key("default", "w")
    stored = cluster.state.find(resource, key)
    assert stored is not None
    met = (resource, key, stored.resource_version)
    assert is_current(cluster.state, met)
    assert not is_current(cluster.state, (resource, Key("default", "another"), stored.resource_version))
    cluster.patch(KIND, "w", {"spec": {"size": 9}})
    assert not is_current(cluster.state, met)
    cluster.delete(KIND, "w")
    assert not is_current(cluster.state, met)
