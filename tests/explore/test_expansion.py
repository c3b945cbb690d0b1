"""What leaps must not lose: controllers that keep a diary of what they saw in each run, and ends that show it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from explore.programs import by_brute_force
from explore.widgets import CRD, KIND, UNGUARDED, WIDGET
from kontend.cluster.cluster import Cluster
from kontend.explore import Action, Bounds, Scenario, check, never, update
from kontend.kube.errors import AlreadyExists, Conflict, NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from, raw
from kontend.runtime.controller import Controller, Request, Result

MAP, SECRET = "ConfigMap/v1", "Secret/v1"
MERGE = "application/merge-patch+json"
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
        assert verdict.exhausted
        told.append({_diary(Cluster(state=state), name) for state in verdict.final_states})
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
        bounds=Bounds(lag=lag, states=20_000),
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
    twice = type("Diary", (Diary,), {"reads": 2, "name": "diary"})()
    diaries = _diaries(_scenario([twice], actions=_labels(WIDGET, "a"), lag=lag))
    assert {"-a aa", "aa", "-- aa"} <= diaries


@pytest.mark.parametrize("lag", [0, 1])
def test_two_events_can_come_one_in_each_gap(lag: int) -> None:
    twice = type("Diary", (Diary,), {"reads": 2, "name": "diary"})()
    diaries = _diaries(_scenario([twice], actions=_labels(WIDGET, "a", "b"), lag=lag))
    assert "aab abab" in diaries


OTHER: dict[str, Any] = {**WIDGET, "metadata": {"name": "other", "namespace": "default"}}


def _the_other_if_the_widget_has_a_label(_: Mapping[str, Any], cache: Cache) -> list[str]:
    labelled = "labels" in cache.get(KIND, Key("default", "w"))["metadata"]
    return ["default/other"] if labelled else []


class Mapped(Controller):
    """Looks at the other widget because of a config map only if its cache shows a label on the first one then."""

    kind = KIND
    watches = {MAP: _the_other_if_the_widget_has_a_label}  # noqa: RUF012 - as users write it
    memory = ("runs",)
    runs: list[str] = []  # noqa: RUF012 - the explorer sets it for each run
    reads = 1
    name = "diary"

    async def reconcile(self, request: Request, api: Api) -> None:
        """One line in the diary, with the name of the widget, and with the label of the map."""
        line = request.name[0]
        for _ in range(self.reads if request.name == "w" else 1):
            line += _seen(await api.get(KIND, request))
        line += _seen(await api.get(MAP, "default/w"))
        if len(self.runs) < 5:
            self.runs = [*self.runs, line]
        await _stored(api, self.name, " ".join(self.runs))


@pytest.mark.parametrize("lag", [1, 2])
def test_what_a_mapping_function_sees_depends_on_what_was_delivered_first(lag: int) -> None:
    actions = [*_labels(WIDGET, "a"), *_labels(CONFIG_MAP, "x")]
    diaries = _diaries(_scenario([Mapped()], actions=actions, lag=lag, objects=(WIDGET, OTHER, CONFIG_MAP)))
    # The map's event came after the widget's: the other one is looked at again. Before it: not.
    assert {"o-- w-- wax o-x", "o-- w-- wax"} <= diaries


def test_an_event_that_is_not_read_can_be_delivered_between_two_reads() -> None:
    twice = type("Mapped", (Mapped,), {"reads": 2, "name": "diary"})()
    actions = [*_labels(CONFIG_MAP, "x"), *_labels(WIDGET, "a")]
    diaries = _diaries(_scenario([twice], actions=actions, lag=1, objects=(WIDGET, OTHER, CONFIG_MAP)))
    assert {"o-- w-ax waax", "o-- w-ax waax o-x"} <= diaries


def test_a_write_that_pushes_a_cache_leaves_time_for_other_deliveries_before_it() -> None:
    actions = [*_labels(CONFIG_MAP, "x"), *_labels(WIDGET, "a", "b")]
    diaries = _diaries(_scenario([Mapped()], actions=actions, lag=1, objects=(WIDGET, OTHER, CONFIG_MAP)))
    assert {"o-- w-- wabx", "o-- w-- wabx o-x"} <= diaries


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


class Polls(Controller):
    """Looks again and again, and never finds anything to do."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Look."""
        await api.get(KIND, request)
        return Result(requeue=True)


class MapDiary(Diary):
    """A diary about config maps."""

    kind = MAP
    name = "diary"


def test_one_who_polls_for_ever_does_not_keep_the_others_waiting() -> None:
    actions = _labels(CONFIG_MAP, "x", "y")
    diaries = _diaries(_scenario([Polls(), MapDiary()], actions=actions, lag=0, objects=(WIDGET, CONFIG_MAP)))
    assert {"xy", "- xy", "x xy xy", "xy xy"} <= diaries


class Announces(Controller):
    """Says what it saw before it says that it is done; nobody reads either."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Two writes to an object of its own."""
        saw = _seen(await api.get(KIND, request))
        metadata = {"name": "s", "namespace": "default", "annotations": {"saw": saw}}
        with contextlib.suppress(AlreadyExists):
            await api.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": dict(metadata)}
            await api.patch(secret, raw(MERGE, b'{"data":{"n":"MQ=="}}'))


def _overtaken(cluster: Cluster) -> bool:
    """Both labels were set before it was done with what it saw before either."""
    try:
        secret = cluster.get(SECRET, "s")
    except NotFound:
        return False
    undone = not secret.get("data") and secret["metadata"]["annotations"]["saw"] == "-"
    return undone and _seen(cluster.get(KIND, "w")) == "ab"


def test_what_a_property_looks_at_is_not_private() -> None:
    scenario = _scenario([Announces()], actions=_labels(WIDGET, "a", "b"), lag=0)
    scenario = replace(scenario, properties=[never(_overtaken)])
    for each in (scenario, by_brute_force(scenario)):
        assert "_overtaken" in {violation.property for violation in check(each).violations}


class Notices(Controller):
    """Marks the widget only if a config map changed while it was looking: nobody can know that beforehand."""

    kind = MAP
    name = "notices"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Look twice."""
        first, second = [_seen(await api.live.get(MAP, request)) for _ in range(2)]
        if first != second:
            widget = await api.live.get(KIND, "default/w")
            base = {**widget, "metadata": dict(widget["metadata"])}
            widget["metadata"]["labels"] = {"m": "1"}
            await api.patch(widget, merge_from(base))


def test_what_was_believed_of_a_controller_is_taken_back_when_it_does_otherwise() -> None:
    scenario = _scenario([Diary(), Notices()], actions=_labels(CONFIG_MAP, "x"), lag=0, objects=(WIDGET, CONFIG_MAP))
    assert {"-", "- m", "m"} <= _diaries(scenario)


class Flickers(Controller):
    """Sets a label and takes it away again."""

    kind = MAP
    name = "flickers"

    async def reconcile(self, request: Request, api: Api) -> None:
        """There and back."""
        await api.get(MAP, request)
        for value in (b'"1"', b"null"):
            widget = {**WIDGET, "metadata": dict(WIDGET["metadata"])}
            await api.patch(widget, raw(MERGE, b'{"metadata":{"labels":{"f":%s}}}' % value))


class Locks(Controller):
    """Writes with a lock, and stores whether it was refused."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write once."""
        widget = await api.get(KIND, request)
        if widget.get("status"):
            return
        base = {**widget}
        widget["status"] = {"done": True}
        try:
            await api.status.patch(widget, merge_from(base, lock=True))
        except Conflict:
            await _stored(api, "diary", "refused")


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_an_object_that_came_back_to_what_it_was_is_still_another_version(lag: int) -> None:
    scenario = _scenario([Locks(), Flickers()], actions=[], lag=lag, objects=(WIDGET, CONFIG_MAP))
    assert _diaries(scenario) == {"", "refused"}
