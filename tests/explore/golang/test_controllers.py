"""Tests of Go code that the explorer must cope with: faults are findings or clear messages, and leave no process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kontend import Cluster
from kontend.explore import Bounds, External, Scenario, check, create, never, patch, sometimes
from kontend.explore.exploring import SearchOptions, explore
from kontend.explore.golang.controllers import go_controllers
from kontend.explore.model.model import Model
from kontend.explore.problems import BadScenario
from kontend.explore.processes import deployed
from kontend.explore.program.determinism import Nondeterminism
from kontend.explore.program.symbols import Assumption
from kontend.explore.properties.property import Property
from kontend.explore.verdict import Verdict
from kontend.report.text import render
from kontend.runtime.guards import Guards

FAULTY = Path(__file__).parent / "operators"
CONFIG: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}

pytestmark = pytest.mark.usefixtures("operators")


def _explored(test: str) -> Verdict:
    controllers = go_controllers(FAULTY, f"TestExplore{test}")
    bounds = Bounds(concurrent=2, states=3_000)
    return check(Scenario(controllers=controllers, objects=[CONFIG], guards=Guards.off(), bounds=bounds))


def _line(text: str) -> int:
    """The number of the line of the reconcilers with a text."""
    lines = (FAULTY / "reconcilers.go").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_the_order_of_a_map_that_reaches_the_server_is_a_finding_with_its_line() -> None:
    verdict = _explored("MapOrder")
    (violation,) = verdict.violations
    assert violation.property == "map order"
    assert violation.line is not None
    assert violation.line.short == f"reconcilers.go:{_line('return c.Patch(ctx, config')}"
    assert "data.order" in violation.sentence
    # The search has gone on with one order.
    assert verdict.exhausted


def test_an_owned_kind_is_told_from_one_that_is_watched_through_a_mapping_function() -> None:
    """Since controller-runtime 0.20 both handlers are wrapped alike."""
    (controller,) = go_controllers(FAULTY, "TestExploreOwner")
    assert controller.owns == ["Secret/v1"]
    assert list(controller.watches) == ["Service/v1"]
    assert _explored("Owner").exhausted


def test_a_panic_is_a_finding_with_its_line_and_its_stack() -> None:
    violation = _explored("Panics").documents[0].violation
    assert violation.property == "exception"
    line = _line('config.Data["x"]')
    assert f"reconcilers.go:{line} in" in violation.sentence
    assert "faulty.Panics" in (violation.traceback or "")


@pytest.mark.parametrize(
    ("test", "message", "line"),
    [
        ("PanicsElsewhere", "panic: elsewhere", 'panic("elsewhere")'),
        ("Exits", "ended with exit code 3 while a reconcile ran; does it call os.Exit?", ""),
        ("Deadlocks", "deadlock", "<-make(chan bool)"),
        ("LeavesGoroutines", "goroutines that it started go on", "go func() { <-never }()"),
        ("Dials", "connects to tcp 127.0.0.1:9", "http.Get"),
        ("WatchesLater", "starts to watch Secret/v1 (controller later), which cannot be explored", ""),
        ("OtherRequests", "controller other is a controller.Controller[", ""),
        ("Spins", "an endless loop", 'for config.Name != ""'),
    ],
)
def test_what_cannot_be_explored_is_refused_with_its_line(test: str, message: str, line: str) -> None:
    with pytest.raises(BadScenario) as error:
        _explored(test)
    assert message in str(error.value)
    if line:
        assert f"reconcilers.go:{_line(line)}" in str(error.value)


def test_state_that_is_not_declared_is_refused() -> None:
    with pytest.raises(Nondeterminism, match="patch ConfigMap/v1 default/c in one run and ends in another"):
        _explored("Remembers")


def test_declared_memory_is_a_part_of_the_state() -> None:
    verdict = _explored("Expects")
    assert {violation.property for violation in verdict.violations} == {"lost update", "diverged"}
    assert verdict.exhausted


def test_memory_that_is_not_declared_is_refused() -> None:
    with pytest.raises((Nondeterminism, BadScenario)):
        _explored("ForgetsToDeclare")


def test_calls_of_something_outside_are_steps_that_can_lose_their_response() -> None:
    verdict = _explored("Submits")
    assert verdict.exhausted
    lost = "create External.explore.kontend.dev/v1 sidecar/call is carried out, and its response is lost"
    found = [one.property for one in verdict.violations if any(lost in step for step in one.trace)]
    assert found == ["diverged"]


def _submit(task: str, tasks: list[str]) -> tuple[int, list[str]]:
    return len(tasks) + 1, [*tasks, task]


def test_something_outside_may_have_its_fake_in_python() -> None:
    fakes = {"sidecar": External([], _submit)}
    controllers = go_controllers(FAULTY, "TestExploreSubmitsToPython", externals=fakes)
    bounds = Bounds(concurrent=2, states=3_000)
    python = check(Scenario(controllers=controllers, objects=[CONFIG], guards=Guards.off(), bounds=bounds))
    go = _explored("Submits")
    assert (python.states, python.steps) == (go.states, go.steps)
    assert [one.trace for one in python.violations] == [one.trace for one in go.violations]


def test_a_missing_fake_is_named() -> None:
    with pytest.raises(BadScenario, match=r"kontend\.External\('sidecar'\) has no fake"):
        go_controllers(FAULTY, "TestExploreSubmitsToPython")


@pytest.mark.parametrize(("test", "recorded"), [("DropsEvents", never), ("RecordsEvents", sometimes)])
def test_recorders_create_events_only_when_asked(test: str, recorded: Callable[..., Property]) -> None:
    scenario = Scenario(
        controllers=go_controllers(FAULTY, f"TestExplore{test}"),
        objects=[CONFIG],
        properties=[recorded(lambda cluster: bool(cluster.list("Event/v1")), name="recorded")],
        guards=Guards.off(),
    )
    verdict = check(scenario)
    assert "recorded" not in {one.property for one in verdict.violations}


def test_the_controllers_of_a_manager_are_one_process() -> None:
    controllers = go_controllers(FAULTY, "TestExploreTwoControllers")
    scenario = Scenario(controllers=controllers, objects=[CONFIG], guards=Guards.off())
    (process,) = deployed(scenario, controllers)
    assert process.controllers == (0, 1)
    assert check(scenario).ok


def test_a_reconcile_may_hold_a_lock_during_its_calls() -> None:
    assert _explored("Locks").ok


def test_a_flood_of_output_does_not_stop_a_run() -> None:
    assert _explored("Floods").ok


def test_sleeping_takes_no_time() -> None:
    assert _explored("Sleeps").ok


def _expired(cluster: Cluster) -> bool:
    return "expired" in cluster.get("ConfigMap/v1", "c").get("data", {})


@pytest.mark.parametrize(("test", "asks"), [("LooksAgain", False), ("Expires", True)])
def test_it_is_learned_whether_the_time_matters_to_code(test: str, asks: bool) -> None:
    scenario = Scenario(
        controllers=go_controllers(FAULTY, f"TestExplore{test}"),
        objects=[CONFIG],
        properties=[never(_expired, name="expired")],
        guards=Guards.off(),
    )
    models: list[Model] = []
    verdict = explore(scenario, SearchOptions(), inspect=models.append)
    assert ("expired" in {violation.property for violation in verdict.violations}) is asks
    assert (Assumption.CLOCKLESS not in models[0].knowledge.assumptions) is asks


def test_goroutines_call_at_once_in_every_order() -> None:
    verdict = _explored("Parallel")
    assert verdict.ok
    assert verdict.states == 92


def _traces(verdict: Verdict, property: str) -> str:
    return "\n".join(line for one in verdict.violations if one.property == property for line in one.trace)


def test_workers_of_client_go_read_their_listers_from_views() -> None:
    verdict = _explored("Worker")
    trace = _traces(verdict, "diverged")
    assert "worker#2: cached list Secret/v1 in default (stale)" in trace
    fix = next(document.violation.fix for document in verdict.documents if document.violation.property == "diverged")
    assert fix is not None
    assert fix.line is not None
    assert fix.line.file.endswith("worker.go")


def test_a_worker_with_names_of_its_own_holds() -> None:
    verdict = _explored("LockedWorker")
    assert verdict.ok
    assert verdict.exhausted


def test_a_worker_that_changes_an_object_of_a_lister_is_a_finding() -> None:
    violation = _explored("CarelessWorker").documents[0].violation
    assert violation.property == "exception"
    assert "it changes *v1.ConfigMap default/c, which it has read from an informer" in violation.sentence
    assert "worker.go" in violation.sentence


def test_an_event_that_a_reconcile_sends_on_a_channel_is_lost_in_a_crash() -> None:
    trace = _traces(_explored("Notifies"), "diverged")
    assert "crashes" in trace
    assert "listener" not in trace.partition("crashes")[2]


def test_several_processes_find_the_same_of_what_reconciles_enqueue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kontend.explore.shards.sharded.SMALL", 20)
    monkeypatch.setattr("kontend.explore.shards.sharded.ENOUGH", 1)
    scenario = Scenario(
        controllers=go_controllers(FAULTY, "TestExploreNotifies"), objects=[CONFIG], guards=Guards.off()
    )
    one, two = check(scenario), check(scenario, jobs=2)
    assert two.processes == 2
    assert (two.states, two.steps) == (one.states, one.steps)
    found = [[(violation.property, violation.trace) for violation in verdict.violations] for verdict in (one, two)]
    assert found[0] == found[1] != []


def test_an_event_on_a_channel_arrives_where_nothing_fails() -> None:
    controllers = go_controllers(FAULTY, "TestExploreNotifies")
    heard = sometimes(lambda cluster: _data(cluster, "c").get("heard") == "yes", name="heard")
    bounds = Bounds(faults=0, concurrent=2)
    scenario = Scenario(
        controllers=controllers, objects=[CONFIG], properties=[heard], guards=Guards.off(), bounds=bounds
    )
    verdict = check(scenario)
    assert verdict.ok
    assert verdict.exhausted


def test_a_declared_event_triggers_the_controllers_of_its_channel() -> None:
    controllers = go_controllers(FAULTY, "TestExplorePolled")
    heard = sometimes(lambda cluster: "heard" in cluster.get("ConfigMap/v1", "c").get("data", {}), name="heard")
    scenario = Scenario(controllers=controllers, objects=[CONFIG], properties=[heard], guards=Guards.off())
    verdict = check(scenario)
    assert {one.property for one in verdict.violations} == {"diverged"}
    assert "crashes" in _traces(verdict, "diverged")


def test_indexes_select_and_mapping_functions_read_the_cache() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": {"of": "c"}}}
    scenario = Scenario(
        controllers=go_controllers(FAULTY, "TestExploreIndexed"),
        objects=[CONFIG, {**CONFIG, "metadata": {"name": "d"}}],
        actions=[create(secret)],
        properties=[
            sometimes(lambda cluster: _data(cluster, "c").get("secrets") == "1", name="counted"),
            never(lambda cluster: _data(cluster, "d").get("secrets", "0") != "0", name="miscounted"),
        ],
        guards=Guards.off(),
        bounds=Bounds(faults=0),
    )
    # Its patch is not locked; every look at the wrong Secrets would be something else.
    assert {violation.property for violation in check(scenario).violations} <= {"lost update"}


def _data(cluster: Cluster, name: str) -> dict[str, str]:
    data: dict[str, str] = cluster.get("ConfigMap/v1", name).get("data", {})
    return data


def test_objects_without_types_and_as_metadata_are_read_and_patched() -> None:
    (controller,) = go_controllers(FAULTY, "TestExploreGeneric")
    assert controller.max_concurrent == 2
    scenario = Scenario(controllers=[controller], objects=[CONFIG], guards=Guards.off())
    verdict = check(scenario)
    assert verdict.ok
    assert verdict.exhausted


def _labelled(test: str) -> Verdict:
    """The labels of a ConfigMap change once; its metadata is watched."""
    scenario = Scenario(
        controllers=go_controllers(FAULTY, f"TestExplore{test}"),
        objects=[CONFIG],
        actions=[patch(CONFIG, {"metadata": {"labels": {"label": "x"}}})],
        guards=Guards.off(),
        bounds=Bounds(faults=0),
    )
    return check(scenario)


def test_each_representation_of_a_kind_has_a_view_of_its_own() -> None:
    assert _labelled("Headers").exhausted
    assert not _labelled("Headers").violations
    # The event of the metadata triggers a reconcile, and the informer of typed objects has not seen the change.
    verdict = _labelled("TypedHeaders")
    (violation,) = verdict.violations
    assert violation.property == "diverged"
    text = render(verdict.documents[0])
    assert "cached get ConfigMap default/c as typed: version" in text
    assert "stale: the server has version" in text


def test_connections_fail_where_a_test_says_so() -> None:
    violation = _explored("Offline").documents[0].violation
    assert violation.property == "fails forever"
    assert "connect: connection refused" in violation.sentence


def test_temporary_files_have_names_of_their_own() -> None:
    verdict = _explored("Files")
    assert verdict.exhausted
    assert not {"exception", "fails forever"} & {violation.property for violation in verdict.violations}


def test_random_bytes_are_the_same_in_each_run() -> None:
    assert not {"map order"} & {violation.property for violation in _explored("Secures").violations}


def test_random_numbers_that_reach_the_server_are_a_finding() -> None:
    verdict = _explored("Rolls")
    (violation,) = (violation for violation in verdict.violations if violation.property == "map order")
    assert "math/rand" in violation.sentence
    assert violation.line is not None
    assert violation.line.short == f"reconcilers.go:{_line('return c.Patch(ctx, config')}"


def test_no_process_is_left() -> None:
    script = (
        "from kontend.explore.golang.controllers import go_controllers\n"
        f"controller, = go_controllers({str(FAULTY)!r}, 'TestExploreSleeps')\n"
        "print(controller._process._process.pid)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
