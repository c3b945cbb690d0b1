"""Faults: crashes and restarts, calls that fail, responses that are lost, and how many of them there may be."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Reductions, Scenario, check, create, delete, update
from kontend.explore.actions import Action
from kontend.explore.model.model import Model
from kontend.explore.model.state.budget import Budget
from kontend.explore.model.state.world import World
from kontend.explore.model.step import Step
from kontend.kube.errors import ApiError, Conflict, InternalError
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import AnswerLost
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.guards import Guards

W = Key("default", "w")
START, CALL = Step("start", 0, W), Step("call", 0, W)


class Counts(Controller):
    """Reads the widget, remembers its size, and writes what it has remembered, or which error it got."""

    kind = KIND
    memory = ("sizes",)
    sizes: list[int] | None = None

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Remember and write."""
        widget = await api.get(self.kind, request)
        size = int(widget["spec"].get("size", 0))
        self.sizes = [*(self.sizes or []), size]
        base = copy.deepcopy(widget)
        widget["status"] = {"sizes": list(self.sizes)}
        try:
            await api.status.patch(widget, merge_from(base))
        except ApiError as error:
            widget["status"] = {"error": type(error).__name__}
            await api.status.patch(widget, merge_from(base))
            return Result(requeue_after=5)
        return None


def scenario(controller: Controller | None = None, *, guards: Guards = UNGUARDED, **bounds: Any) -> Scenario:
    """One widget, whose size the user changes twice."""
    return Scenario(
        [controller or Counts()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, spec={"size": 1}), update(WIDGET, spec={"size": 2})],
        bounds=Bounds(**bounds),
        guards=guards,
        reductions=Reductions(codes=False),
    )


def taken(model: Model, *steps: Step) -> World:
    """The state after some steps, each of which is enabled."""
    world = model.initial()
    for step in steps:
        assert step in model.steps(world)
        world = model.next(world, step).world
    return world


def status(world: World) -> Any:
    """The status of the widget in the cluster."""
    return Cluster(state=world.state).get(KIND, "w").get("status")


def actions(model: Model, world: World) -> set[str]:
    """The kinds of steps that are enabled."""
    return {step.action for step in model.steps(world)}


def test_a_crash_drops_the_reconcile_in_flight_and_the_memory_and_enqueues_every_object() -> None:
    model = Model(scenario(lag=0))
    world = taken(model, START, CALL, CALL)
    assert b"[0]" in world.instances[0].memory
    world = taken(model, START, CALL, CALL, START, CALL)
    assert world.instances[0].running
    crash = model.next(world, Step("crash", 0))
    instance, initial = crash.world.instances[0], model.initial().instances[0]
    assert not instance.running
    assert instance.memory == initial.memory
    assert instance.queue == {W}
    assert crash.world.state is world.state
    assert (crash.cost, crash.text) == (1, "counts crashes while it reconciles default/w and restarts")


def test_a_crash_drops_timers_retries_and_own_writes() -> None:
    guards = Guards(read_your_writes=True, fencing=False)
    model = Model(scenario(guards=guards, lag=1, faults=2))
    fail = Step("fail", 0, W)
    world = taken(model, START, CALL, fail, CALL)
    assert world.instances[0].timers == {(5.0, W)}
    assert world.processes[0].own
    after = model.next(world, Step("crash", 0)).world
    restarted = after.instances[0]
    assert (restarted.timers, restarted.delayed, after.processes[0].own) == (frozenset(), frozenset(), ())


def test_a_crash_of_one_instance_leaves_the_others_alone() -> None:
    model = Model(scenario(lag=0, concurrent=2))
    world = taken(model, START, Step("start", 1, W))
    after = model.next(world, Step("crash", 1)).world
    assert after.instances[0] is world.instances[0]
    assert not after.instances[1].running


def test_an_instance_that_has_just_started_does_not_crash() -> None:
    """It would change nothing."""
    model = Model(scenario())
    assert "crash" not in actions(model, model.initial())


@pytest.mark.parametrize("rewind", [0, 1, 2])
def test_a_restart_onto_older_lists_sees_the_objects_of_then_and_costs_more(rewind: int) -> None:
    model = Model(scenario(lag=0, rewind=rewind))
    world = taken(model, Step("act"), Step("act"))
    ages = [step.at for step in model.steps(world) if step.action == "crash"]
    assert [age for age in ages if age] == list(range(1, rewind + 1))
    for age in range(1, rewind + 1):
        crash = model.next(world, Step("crash", 0, None, age))
        assert crash.cost == 2
        assert crash.text == f"counts crashes and restarts, with lists that are {age} change{'s' * (age > 1)} old"
        for step in (START, CALL, CALL):
            crash = model.next(crash.world, step)
        assert status(crash.world) == {"sizes": [2 - age]}


def test_lists_are_never_older_than_the_initial_state() -> None:
    model = Model(scenario(lag=0, rewind=5))
    assert not [step for step in model.steps(model.initial()) if step.action == "crash"]
    world = taken(model, Step("act"))
    assert [step.at for step in model.steps(world) if step.action == "crash" and step.at] == [1]


@pytest.mark.parametrize(
    ("fault", "error"), [("fail", InternalError), ("timeout", AnswerLost), ("conflict", Conflict), ("lose", AnswerLost)]
)
def test_only_a_lost_response_commits_and_the_reconcile_gets_the_error(fault: str, error: type[ApiError]) -> None:
    model = Model(scenario(lag=0))
    before = taken(model, START, CALL)
    failed = model.next(before, Step(fault, 0, W))
    assert failed.cost == 1
    assert status(failed.world) == ({"sizes": [0]} if fault == "lose" else None)
    assert bool(failed.changes) == (fault == "lose")
    assert status(model.next(failed.world, CALL).world)["error"] == error.__name__


def test_reads_of_a_view_do_not_fail() -> None:
    model = Model(scenario())
    assert not actions(model, taken(model, START)) & {"fail", "timeout", "conflict", "lose"}


class Reads(Controller):
    """Reads from the server, and writes what is there already."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read and write."""
        widget = await api.live.get(self.kind, request)
        await api.update(widget)


def test_a_live_read_fails_but_loses_no_response_and_gets_no_conflict() -> None:
    model = Model(scenario(Reads()))
    world = taken(model, START)
    assert actions(model, world) & {"fail", "timeout", "conflict", "lose"} == {"fail", "timeout"}
    # The response to a write that changes nothing is not lost, either: it would be the same as a timeout.
    world = taken(model, START, CALL)
    assert actions(model, world) & {"fail", "timeout", "conflict", "lose"} == {"fail", "timeout", "conflict"}


@pytest.mark.parametrize(
    ("bounds", "first"),
    [
        ({"crashes": 0}, {"fail", "timeout", "conflict", "lose"}),
        ({"failed": 0}, {"crash", "lose"}),
        ({"lost": 0}, {"crash", "fail", "timeout", "conflict"}),
        ({"faults": 0}, set()),
        ({"atomic": True}, {"crash"}),
    ],
)
def test_the_bounds_say_which_faults_there_are(bounds: dict[str, Any], first: set[str]) -> None:
    model = Model(scenario(lag=1, **bounds))
    faults = {"crash", "fail", "timeout", "conflict", "lose"}
    world = taken(model, START) if "atomic" in bounds else taken(model, START, CALL)
    assert actions(model, world) & faults == first


def test_no_more_faults_happen_than_the_total_and_than_each_kind_allows() -> None:
    model = Model(scenario(lag=0, faults=2, crashes=1, failed=2, lost=0))
    world = taken(model, START, CALL, Step("fail", 0, W))
    assert world.budget == Budget(total=1, crashes=1, failed=1, lost=0)
    crashed = model.next(world, Step("crash", 0)).world
    assert crashed.budget == Budget()
    failed = model.next(world, Step("conflict", 0, W)).world
    assert failed.budget == Budget()
    lost = Model(scenario(lag=0, faults=2, crashes=1, failed=0, lost=1))
    assert taken(lost, START, CALL, Step("lose", 0, W)).budget == Budget(total=1, crashes=1, failed=0, lost=0)
    one = taken(Model(scenario(lag=0, faults=3, crashes=1)), START, Step("crash", 0), START)
    assert "crash" not in actions(model, one)


def test_states_with_other_faults_left_have_other_keys() -> None:
    model = Model(scenario(lag=0))
    world = taken(model, START, Step("crash", 0))
    assert model.layout.keys.of(world) == model.layout.keys.of(model.initial())
    assert model.key(world) != model.key(model.initial())


def test_states_differ_in_the_changes_that_a_restart_could_go_back_to() -> None:
    """The cluster is the same, but the change before is another one."""
    model = Model(scenario(lag=0, rewind=1))
    two = taken(model, Step("act"), Step("act"))
    assert (
        model.mechanics.faults.reserve(two).recent != model.mechanics.faults.reserve(taken(model, Step("act"))).recent
    )
    without = Model(scenario(lag=0, rewind=0))
    assert without.mechanics.faults.reserve(taken(without, Step("act"))).recent == b""


class Patient(Controller):
    """Retries until its write has gone through."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write."""
        widget = await api.get(self.kind, request)
        if not widget.get("status"):
            base = copy.deepcopy(widget)
            widget["status"] = {"done": True}
            await api.status.patch(widget, merge_from(base))


@pytest.mark.parametrize("bounds", [{}, {"faults": 2, "crashes": 2, "failed": 2, "lost": 2, "rewind": 2}])
def test_faults_are_optional_so_what_settles_without_them_settles(bounds: dict[str, Any]) -> None:
    """A controller that retries is neither restless nor failing because it could crash or fail once more."""
    verdict = check(Scenario([Patient()], crds=[CRD], objects=[WIDGET], bounds=Bounds(**bounds), guards=UNGUARDED))
    assert verdict.ok, verdict
    assert verdict.exhausted
    assert len(verdict.final_states) == 1


class OnlyAfterFailure(Controller):
    """Toggles its status again and again, until a call fails."""

    kind = KIND
    memory = ("calm",)
    calm = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Toggle."""
        if self.calm:
            return
        widget = await api.get(self.kind, request)
        base = copy.deepcopy(widget)
        widget["status"] = {"on": not (widget.get("status") or {}).get("on")}
        try:
            await api.status.patch(widget, merge_from(base))
        except ApiError:
            self.calm = True


def test_a_run_that_only_a_fault_could_end_never_settles() -> None:
    verdict = check(
        Scenario([OnlyAfterFailure()], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0), guards=UNGUARDED)
    )
    assert "never settles" in {violation.property for violation in verdict.violations}


CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
NAMESAKE = {**CONFIG, "metadata": {"name": "w", "namespace": "default"}}
OTHER = {**WIDGET, "metadata": {"name": "v", "namespace": "default"}}


class Looks(Controller):
    """Does nothing, and says when it wants to look again."""

    kind = KIND

    def __init__(self, result: Result | None = None) -> None:
        self.result = result

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Read nothing."""
        del request, api
        return self.result


class Owns(Looks):
    """Also watches ConfigMaps."""

    owns = ("ConfigMap/v1",)


def ages(
    controller: Controller, taken_actions: list[Action], *, guards: Guards = UNGUARDED, **bounds: Any
) -> list[int]:
    """The ages of lists that are tried after a crash, once users have acted."""
    objects = [WIDGET, OTHER, CONFIG, NAMESAKE]
    limits = Bounds(**bounds)
    model = Model(
        Scenario([controller], crds=[CRD], objects=objects, actions=taken_actions, bounds=limits, guards=guards)
    )
    world = model.initial()
    for _ in taken_actions:
        world = model.next(world, Step("act")).world
    return [step.at for step in model.steps(world) if step.action == "crash" and step.at]


def test_a_process_with_monotonic_views_lists_no_older_state() -> None:
    changes: list[Action] = [update(WIDGET, spec={"size": 1}), update(WIDGET, spec={"size": 2})]
    assert ages(Owns(), changes, lag=4, rewind=2) == [1, 2]
    assert ages(Owns(), changes, guards=Guards(fencing=False), lag=4, rewind=2) == []


def again(obj: dict[str, Any]) -> list[Action]:
    """The actions that put a new object in the place of another one."""
    return [delete(obj), create(obj)]


@pytest.mark.parametrize(
    ("taken_actions", "rewind", "expected"),
    [
        # A list that misses both the delete and the create shows the object of before.
        (again(WIDGET), 1, [1, 2]),
        (again(WIDGET), 0, []),
        # Of several predecessors of one name only the youngest is tried.
        ([*again(WIDGET), *again(WIDGET)], 1, [1, 2]),
        # Each object of the kind that is reconciled has one.
        ([*again(WIDGET), *again(OTHER)], 1, [1, 2, 4]),
        # For other kinds that are watched the youngest of all will do.
        ([*again(CONFIG), *again(OTHER)], 1, [1, 2]),
        ([*again(WIDGET), *again(CONFIG)], 1, [1, 2, 4]),
        ([*again(WIDGET), *again(NAMESAKE)], 1, [1, 2, 4]),
        # An object that is gone has no successor.
        ([delete(WIDGET), update(OTHER, spec={"size": 1})], 1, [1]),
    ],
)
def test_a_restart_may_see_the_predecessor_of_an_object(
    taken_actions: list[Action], rewind: int, expected: list[int]
) -> None:
    assert ages(Owns(), taken_actions, lag=4, rewind=rewind) == expected


def test_changes_of_kinds_that_an_instance_does_not_watch_make_no_list_older() -> None:
    changes = [update(WIDGET, spec={"size": 1}), update(CONFIG, data={"a": "1"}), update(CONFIG, data={"a": "2"})]
    assert ages(Looks(), changes, lag=4, rewind=1) == [1]
    assert ages(Looks(), changes[1:], lag=4, rewind=1) == []


@pytest.mark.parametrize("result", [Result(requeue_after=5), Result(requeue=True)])
def test_a_crash_that_only_drops_a_timer_or_a_retry_is_tried(result: Result) -> None:
    model = Model(scenario(Looks(result), lag=0, rewind=0))
    world = taken(model, START, Step("act"))
    assert world.instances[0].queue == {W}
    assert "crash" in actions(model, world)
    model = Model(scenario(Looks(), lag=0, rewind=0))
    assert "crash" not in actions(model, taken(model, START, Step("act")))


class Raises(Looks):
    """Has a programming error."""

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Raise it."""
        del request, api
        raise TypeError("no")


@pytest.mark.parametrize(
    ("controller", "steps"),
    [
        # A reconcile is in flight, and its request is enqueued again.
        (Counts(), [START, Step("act"), Step("deliver", 0, KIND)]),
        # A view lacks an event.
        (Looks(), [Step("act")]),
        # The same exception again would end the search.
        (Raises(), [START, Step("retry", 0, W)]),
    ],
)
def test_a_crash_that_changes_one_thing_is_tried(controller: Controller, steps: list[Step]) -> None:
    model = Model(scenario(controller, lag=1, rewind=0))
    world = taken(model, *steps)
    assert world.instances[0].queue == {W}
    assert "crash" in actions(model, world)


class ReadsElsewhere(Controller):
    """Reads a kind that it does not declare, from a view that begins with the read."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read."""
        del request
        await api.get("ConfigMap/v1", Key("default", "c"))


def test_a_crash_that_only_ends_the_view_of_an_undeclared_kind_is_tried() -> None:
    objects = [WIDGET, CONFIG]
    bounds = Bounds(lag=0, rewind=0)
    acts = [update(WIDGET, spec={"size": 1})]
    model = Model(Scenario([ReadsElsewhere()], crds=[CRD], objects=objects, actions=acts, bounds=bounds))
    world = taken(model, START, CALL, Step("act"))
    assert world.instances[0].queue == {W}
    assert "crash" in actions(model, world)


def test_other_codes_than_500_are_tried_only_where_code_may_distinguish_them() -> None:
    model = Model(scenario(lag=0))
    assert {"fail", "throttle", "unavailable"} <= actions(model, taken(model, START, CALL))
    model = Model(replace(scenario(lag=0), reductions=Reductions()))
    assert actions(model, taken(model, START, CALL)) & {"fail", "throttle", "unavailable"} == {"fail"}


def test_only_a_write_on_its_way_is_overtaken_by_a_successor_and_none_within_atomic_reconciles() -> None:
    model = Model(scenario(Reads(), handovers=1))
    assert "depose" not in actions(model, taken(model, START))
    assert "depose" in actions(model, taken(model, START, CALL))
    atomic = Model(scenario(Reads(), handovers=1, atomic=True))
    in_flight = taken(model, START, CALL)
    assert "depose" not in {step.action for step in atomic.mechanics.faults.steps(in_flight)}


def test_one_process_has_the_steps_of_all_where_it_is_the_only_one() -> None:
    for faults in (0, 1):
        model = Model(scenario(lag=0, faults=faults))
        world = taken(model, START, CALL)
        of_all = [step for step in model.steps(world) if step.action != "act"]
        assert model.steps_of_process(world, 0) == of_all
