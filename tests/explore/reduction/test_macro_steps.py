"""Macro-steps lose no observation: controllers log what each run has read, and final states show the logs."""

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


def _labels_of(obj: Mapping[str, Any]) -> str:
    """A letter for each label."""
    return "".join(sorted(obj["metadata"].get("labels") or {})) or "-"


class Observer(Controller):
    """Reads, and stores a log of what each run has read, in an object that no other controller reads."""

    kind = KIND
    memory = ("runs",)
    runs: list[str] = []  # noqa: RUF012 - the explorer sets it for each run
    reads = 1
    name = "observer"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Add an entry to the log, up to five."""
        entry = ""
        for _ in range(self.reads):
            entry += _labels_of(await api.get(self.kind, request))
        if len(self.runs) < 5:
            self.runs = [*self.runs, entry]
        await _stored(api, self.name, " ".join(self.runs))


async def _stored(api: Api, name: str, text: str) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}}
    with contextlib.suppress(AlreadyExists):
        await api.create(secret)
    stored = await api.live.get(SECRET, f"default/{name}")
    base = {**stored, "metadata": dict(stored["metadata"])}
    stored["metadata"]["annotations"] = {"log": text}
    await api.patch(stored, merge_from(base))


def _logs(scenario: Scenario, name: str = "observer") -> set[str]:
    """The logs in the final states, which are the same with all reductions and with none."""
    logs = []
    for variant in (scenario, by_brute_force(scenario)):
        verdict = check(variant)
        assert verdict.exhausted
        logs.append({_log(Cluster(state=state), name) for state in verdict.final_states})
    assert logs[0] == logs[1]
    return logs[0]


def _log(cluster: Cluster, name: str) -> str:
    try:
        return str(cluster.get(SECRET, name)["metadata"]["annotations"]["log"])
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
        bounds=Bounds(faults=0, lag=lag, states=20_000),
        guards=UNGUARDED,
    )


def _labels(obj: Mapping[str, Any], *labels: str) -> list[Action]:
    return [update(obj, metadata={"labels": {label: "1"}}) for label in labels]


@pytest.mark.parametrize("lag", [0, 1])
def test_an_event_between_the_start_and_the_first_read_enqueues_another_run(lag: int) -> None:
    assert _logs(_scenario([Observer()], actions=_labels(WIDGET, "a"), lag=lag)) == {"a", "- a", "a a"}


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_an_event_between_two_reads_is_seen_by_the_second(lag: int) -> None:
    twice = type("Observer", (Observer,), {"reads": 2, "name": "observer"})()
    logs = _logs(_scenario([twice], actions=_labels(WIDGET, "a"), lag=lag))
    assert {"-a aa", "aa", "-- aa"} <= logs


@pytest.mark.parametrize("lag", [0, 1])
def test_two_events_can_arrive_one_in_each_gap(lag: int) -> None:
    twice = type("Observer", (Observer,), {"reads": 2, "name": "observer"})()
    logs = _logs(_scenario([twice], actions=_labels(WIDGET, "a", "b"), lag=lag))
    assert "aab abab" in logs


OTHER: dict[str, Any] = {**WIDGET, "metadata": {"name": "other", "namespace": "default"}}


def _the_other_if_the_widget_has_a_label(_: Mapping[str, Any], cache: Cache) -> list[str]:
    labelled = "labels" in cache.get(KIND, Key("default", "w"))["metadata"]
    return ["default/other"] if labelled else []


class Mapped(Controller):
    """Reconciles the other widget because of a config map if its cache shows a label on the first widget."""

    kind = KIND
    watches = {MAP: _the_other_if_the_widget_has_a_label}  # noqa: RUF012 - as users write it
    memory = ("runs",)
    runs: list[str] = []  # noqa: RUF012 - the explorer sets it for each run
    reads = 1
    name = "observer"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Add an entry with the name of the widget and the label of the map."""
        entry = request.name[0]
        for _ in range(self.reads if request.name == "w" else 1):
            entry += _labels_of(await api.get(KIND, request))
        entry += _labels_of(await api.get(MAP, "default/w"))
        if len(self.runs) < 5:
            self.runs = [*self.runs, entry]
        await _stored(api, self.name, " ".join(self.runs))


@pytest.mark.parametrize("lag", [1, 2])
def test_a_mapping_function_sees_the_deliveries_before_its_event(lag: int) -> None:
    actions = [*_labels(WIDGET, "a"), *_labels(CONFIG_MAP, "x")]
    logs = _logs(_scenario([Mapped()], actions=actions, lag=lag, objects=(WIDGET, OTHER, CONFIG_MAP)))
    # The other widget is reconciled again only if the map's event came after the widget's.
    assert {"o-- w-- wax o-x", "o-- w-- wax"} <= logs


def test_an_event_that_is_not_read_can_be_delivered_between_two_reads() -> None:
    twice = type("Mapped", (Mapped,), {"reads": 2, "name": "observer"})()
    actions = [*_labels(CONFIG_MAP, "x"), *_labels(WIDGET, "a")]
    logs = _logs(_scenario([twice], actions=actions, lag=1, objects=(WIDGET, OTHER, CONFIG_MAP)))
    assert {"o-- w-ax waax", "o-- w-ax waax o-x"} <= logs


def test_other_deliveries_can_precede_a_forced_delivery() -> None:
    actions = [*_labels(CONFIG_MAP, "x"), *_labels(WIDGET, "a", "b")]
    logs = _logs(_scenario([Mapped()], actions=actions, lag=1, objects=(WIDGET, OTHER, CONFIG_MAP)))
    assert {"o-- w-- wabx", "o-- w-- wabx o-x"} <= logs


class Marks(Controller):
    """Labels a widget, because of a config map."""

    kind = MAP
    name = "marks"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Set the label once."""
        await api.get(MAP, request)
        widget = await api.live.get(KIND, "default/w")
        if "m" in _labels_of(widget):
            return
        base = {**widget, "metadata": dict(widget["metadata"])}
        widget["metadata"]["labels"] = {**(widget["metadata"].get("labels") or {}), "m": "1"}
        with contextlib.suppress(Conflict):
            await api.patch(widget, merge_from(base))


@pytest.mark.parametrize("lag", [0, 1])
def test_writes_of_another_controller_are_observed(lag: int) -> None:
    scenario = _scenario([Observer(), Marks()], actions=_labels(WIDGET, "a"), lag=lag, objects=(WIDGET, CONFIG_MAP))
    assert {"m am", "- am", "am am", "a am"} <= _logs(scenario)


class Peeks(Controller):
    """Logs the log of the observer, by live reads."""

    kind = MAP
    name = "peeks"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read twice."""
        await api.get(MAP, request)
        logs = ""
        for _ in range(2):
            try:
                secret = await api.live.get(SECRET, "default/observer")
                logs += secret["metadata"].get("annotations", {}).get("log", "?")
            except NotFound:
                logs += "0"
        await _stored(api, self.name, logs)


def test_live_reads_see_every_intermediate_write() -> None:
    scenario = _scenario([Observer(), Peeks()], actions=[], lag=0, objects=(WIDGET, CONFIG_MAP))
    assert _logs(scenario, "peeks") == {"00", "0?", "0-", "??", "?-", "--"}


class Polls(Controller):
    """Polls, and never writes."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> Result:
        """Read, and run again."""
        await api.get(KIND, request)
        return Result(requeue=True)


class MapObserver(Observer):
    """Logs config maps."""

    kind = MAP
    name = "observer"


def test_a_controller_that_polls_forever_does_not_hide_the_others() -> None:
    actions = _labels(CONFIG_MAP, "x", "y")
    logs = _logs(_scenario([Polls(), MapObserver()], actions=actions, lag=0, objects=(WIDGET, CONFIG_MAP)))
    assert {"xy", "- xy", "x xy xy", "xy xy"} <= logs


class Announces(Controller):
    """Stores what it has read, and then that it is done."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Two writes to an object of its own."""
        saw = _labels_of(await api.get(KIND, request))
        metadata = {"name": "s", "namespace": "default", "annotations": {"saw": saw}}
        with contextlib.suppress(AlreadyExists):
            await api.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": dict(metadata)}
            await api.patch(secret, raw(MERGE, b'{"data":{"n":"MQ=="}}'))


def _overtaken(cluster: Cluster) -> bool:
    """Both labels were set while the controller, which had read neither, was not done."""
    try:
        secret = cluster.get(SECRET, "s")
    except NotFound:
        return False
    undone = not secret.get("data") and secret["metadata"]["annotations"]["saw"] == "-"
    return undone and _labels_of(cluster.get(KIND, "w")) == "ab"


def test_properties_see_every_intermediate_write() -> None:
    scenario = _scenario([Announces()], actions=_labels(WIDGET, "a", "b"), lag=0)
    scenario = replace(scenario, properties=[never(_overtaken)])
    for variant in (scenario, by_brute_force(scenario)):
        assert "_overtaken" in {violation.property for violation in check(variant).violations}


class Notices(Controller):
    """Labels the widget only if a config map changed between two reads."""

    kind = MAP
    name = "notices"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read twice."""
        first, second = [_labels_of(await api.live.get(MAP, request)) for _ in range(2)]
        if first != second:
            widget = await api.live.get(KIND, "default/w")
            base = {**widget, "metadata": dict(widget["metadata"])}
            widget["metadata"]["labels"] = {"m": "1"}
            await api.patch(widget, merge_from(base))


def test_a_controller_that_rarely_writes_is_observed() -> None:
    scenario = _scenario([Observer(), Notices()], actions=_labels(CONFIG_MAP, "x"), lag=0, objects=(WIDGET, CONFIG_MAP))
    assert {"-", "- m", "m"} <= _logs(scenario)


class Flickers(Controller):
    """Sets a label and removes it again."""

    kind = MAP
    name = "flickers"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Set and remove."""
        await api.get(MAP, request)
        for value in (b'"1"', b"null"):
            widget = {**WIDGET, "metadata": dict(WIDGET["metadata"])}
            await api.patch(widget, raw(MERGE, b'{"metadata":{"labels":{"f":%s}}}' % value))


class Locks(Controller):
    """Writes with a lock, and logs a refusal."""

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
            await _stored(api, "observer", "refused")


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_an_object_that_has_its_former_content_again_is_another_version(lag: int) -> None:
    scenario = _scenario([Locks(), Flickers()], actions=[], lag=lag, objects=(WIDGET, CONFIG_MAP))
    assert _logs(scenario) == {"", "refused"}
