"""What leaps must not lose: controllers that keep a diary of what they saw in each run, and ends that show it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from explore.programs import by_brute_force
from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore.check import check
from kontend.explore.scenario import Action, Bounds, Scenario, update
from kontend.kube.errors import AlreadyExists, Conflict, NotFound
from kontend.kube.names import Key
from kontend.runtime.api import Api
from kontend.runtime.cache import Cache
from kontend.runtime.controller import Controller, Request
from kontend.runtime.patches import merge_from

MAP, SECRET = "ConfigMap/v1", "Secret/v1"
CONFIG_MAP: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "w", "namespace": "default"},
}


def _seen(obj: Mapping[str, Any]) -> str:
    """A letter for each label."""
    return "".join(sorted(obj["metadata"].get("labels") or {})) or "-"


class Diary(Controller):
    """Reads, remembers what it saw in each run, and stores it where nobody looks."""

    kind = KIND
    memory = ("runs",)
    runs: list[str] = []  # noqa: RUF012 - the explorer sets it for each run
    reads = 1
    name = "diary"

    async def reconcile(self, request: Request, api: Api) -> None:
        """One line in the diary; five at most."""
        line = ""
        for _ in range(self.reads):
            line += _seen(await api.get(self.kind, request))
        if len(self.runs) < 5:
            self.runs = [*self.runs, line]
        await _stored(api, self.name, " ".join(self.runs))


async def _stored(api: Api, name: str, text: str) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}}
    with contextlib.suppress(AlreadyExists):
        await api.create(secret)
    found = await api.live.get(SECRET, f"default/{name}")
    base = {**found, "metadata": dict(found["metadata"])}
    found["metadata"]["annotations"] = {"diary": text}
    await api.patch(found, merge_from(base))


def _diaries(scenario: Scenario, name: str = "diary") -> set[str]:
    """What can stand in a diary in the end; the same with all reductions and with none."""
    told = []
    for each in (scenario, by_brute_force(scenario)):
        verdict = check(each)
        assert verdict.closed
        told.append({_diary(Cluster(state=state), name) for state in verdict.end_states})
    assert told[0] == told[1]
    return told[0]


def _diary(cluster: Cluster, name: str) -> str:
    try:
        return str(cluster.get(SECRET, name)["metadata"]["annotations"]["diary"])
    except NotFound:
        return ""


def _scenario(
    controllers: Sequence[Controller], *, actions: Sequence[Action], lag: int, objects: Sequence[Any] = (WIDGET,)
) -> Scenario:
    return Scenario(
        controllers=list(controllers),
        crds=[CRD],
        objects=list(objects),
        actions=list(actions),
        bounds=Bounds(lag=lag, worlds=20_000),
        guards=UNGUARDED,
    )


def _labels(obj: Mapping[str, Any], *labels: str) -> list[Action]:
    return [update(obj, metadata={"labels": {label: "1"}}) for label in labels]


@pytest.mark.parametrize(
    ("lag", "diaries"),
    [
        (0, {"a", "- a", "a a"}),
        (1, {"a", "- a", "a a"}),
    ],
)
def test_an_event_between_the_start_and_the_first_read_asks_for_another_run(lag: int, diaries: set[str]) -> None:
    assert _diaries(_scenario([Diary()], actions=_labels(WIDGET, "a"), lag=lag)) == diaries


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_an_event_between_two_reads_is_seen_by_the_second(lag: int) -> None:
    twice = type("Diary", (Diary,), {"reads": 2})()
    diaries = _diaries(_scenario([twice], actions=_labels(WIDGET, "a"), lag=lag))
    assert {"-a aa", "aa", "-- aa"} <= diaries


@pytest.mark.parametrize("lag", [0, 1])
def test_two_events_can_come_one_in_each_gap(lag: int) -> None:
    twice = type("Diary", (Diary,), {"reads": 2})()
    diaries = _diaries(_scenario([twice], actions=_labels(WIDGET, "a", "b"), lag=lag))
    assert "aab abab" in diaries


def _if_the_widget_has_a_label(_: Mapping[str, Any], cache: Cache) -> list[str]:
    labelled = "labels" in cache.get(KIND, Key("default", "w"))["metadata"]
    return ["default/w"] if labelled else []


class Mapped(Diary):
    """Is woken by a config map only if its cache shows a label on the widget then."""

    watches = {MAP: _if_the_widget_has_a_label}  # noqa: RUF012 - as users write it
    name = "diary"


@pytest.mark.parametrize("lag", [1, 2])
def test_what_a_mapping_function_sees_depends_on_what_was_delivered_first(lag: int) -> None:
    actions = [*_labels(WIDGET, "a"), *_labels(CONFIG_MAP, "x")]
    diaries = _diaries(_scenario([Mapped()], actions=actions, lag=lag, objects=(WIDGET, CONFIG_MAP)))
    # The map's event came after the widget's: another run. Before it: none.
    assert {"- a a", "- a"} <= diaries


def test_a_write_that_pushes_a_cache_leaves_time_for_other_deliveries_before_it() -> None:
    actions = [*_labels(CONFIG_MAP, "x"), *_labels(WIDGET, "a", "b")]
    diaries = _diaries(_scenario([Mapped()], actions=actions, lag=1, objects=(WIDGET, CONFIG_MAP)))
    assert "- ab" in diaries


class Marks(Controller):
    """Marks a widget, because of a config map."""

    kind = MAP
    name = "marks"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Mark it once."""
        await api.get(MAP, request)
        widget = await api.live.get(KIND, "default/w")
        if "m" in _seen(widget):
            return
        base = {**widget, "metadata": dict(widget["metadata"])}
        widget["metadata"]["labels"] = {**(widget["metadata"].get("labels") or {}), "m": "1"}
        with contextlib.suppress(Conflict):
            await api.patch(widget, merge_from(base))


@pytest.mark.parametrize("lag", [0, 1])
def test_a_controller_that_is_written_to_by_another_is_not_alone(lag: int) -> None:
    scenario = _scenario([Diary(), Marks()], actions=_labels(WIDGET, "a"), lag=lag, objects=(WIDGET, CONFIG_MAP))
    assert {"m am", "- am", "am am", "a am"} <= _diaries(scenario)


class Peeks(Controller):
    """Writes down what it finds in the other one's diary: that is read live, and watched by nobody."""

    kind = MAP
    name = "peeks"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Look twice."""
        await api.get(MAP, request)
        found = ""
        for _ in range(2):
            try:
                secret = await api.live.get(SECRET, "default/diary")
                found += secret["metadata"].get("annotations", {}).get("diary", "?")
            except NotFound:
                found += "0"
        await _stored(api, self.name, found)


def test_what_another_one_reads_from_the_server_is_not_private() -> None:
    scenario = _scenario([Diary(), Peeks()], actions=[], lag=0, objects=(WIDGET, CONFIG_MAP))
    assert _diaries(scenario, "peeks") == {"00", "0?", "0-", "??", "?-", "--"}
