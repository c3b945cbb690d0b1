"""Several perturbations in one run: two faults, timers beside busy controllers, a namespace that goes away."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import replace
from typing import Any, ClassVar, Final

from explore.oracle.cases.common import CM, CRD, OFF, WIDGET, W, case, cm, data_of, made, patched
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, delete, never, update
from kontend.explore.properties.property import Property
from kontend.kube.errors import ApiError, Conflict, NotFound
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from, merge_patch
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.predicates import LabelChanged, Predicate

OTHER: Final[dict[str, Any]] = {**WIDGET, "metadata": {"name": "v", "namespace": "default"}}
NAMESPACE: Final[dict[str, Any]] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "rented"}}


async def _noted(api: Api, name: str, key: str, value: str) -> None:
    """Set a key of a config map that may have to be made."""
    if await made(api, cm(name, {key: value})):
        return
    current = await api.live.get(CM, Request("default", name))
    if (current.get("data") or {}).get(key) != value:
        await patched(api, current, data={key: value})


class Counts(Controller):
    """Makes a config map, counts in it, and notes that it has: the count is lost or doubled by faults."""

    kind = W
    name = "counts"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Once."""
        w = await api.get(W, request)
        if w["metadata"].get("labels"):
            return
        if not await made(api, cm("n", {"count": "1"})):
            config_map = await api.live.get(CM, Request("default", "n"))
            count = int(config_map["data"]["count"])
            await patched(api, config_map, data={"count": str(min(count + 1, 3))})
        with contextlib.suppress(Conflict):
            await patched(api, w, metadata={**w["metadata"], "labels": {"done": "1"}})


@case
def a_count_after_two_crashes() -> Scenario:
    """One crash makes it two, and only a second one makes it three."""
    return Scenario(
        [Counts()],
        crds=[CRD],
        objects=[WIDGET],
        properties=[
            never(lambda cluster: data_of(cluster, "n").get("count") == "2", name="two"),
            never(lambda cluster: data_of(cluster, "n").get("count") == "3", name="three"),
        ],
        bounds=Bounds(lag=0, faults=2, crashes=2, failed=0, lost=0, rewind=0),
        guards=OFF,
    )


@case
def a_count_after_one_crash() -> Scenario:
    """With one crash it is never three."""
    bounds = Bounds(lag=0, faults=1, crashes=1, failed=0, lost=0, rewind=0)
    return replace(a_count_after_two_crashes(), bounds=bounds)


@case
def a_count_after_a_lost_response_and_a_crash() -> Scenario:
    """Two faults of different kinds."""
    bounds = Bounds(lag=0, faults=2, crashes=1, failed=0, lost=1, rewind=0)
    return replace(a_count_after_two_crashes(), bounds=bounds)


class Waits(Controller):
    """Notes the time, looks again after ten seconds, and notes how much has passed."""

    kind = W
    name = "waits"

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Until it was noted."""
        w = await api.get(W, request)
        notes = w["metadata"].get("annotations") or {}
        if "since" not in notes:
            since = api.now()
            await patched(api, w, metadata={**w["metadata"], "annotations": {**notes, "since": since}})
            return Result(requeue_after=10)
        if "passed" in notes:
            return None
        passed = "no" if api.now() == notes["since"] else "yes"
        try:
            await patched(api, w, metadata={**w["metadata"], "annotations": {**notes, "passed": passed}})
        except Conflict:
            return Result(requeue=True)
        return Result(requeue_after=10) if passed == "no" else None


class Busy(Controller):
    """Writes a config map in two steps."""

    kind = W
    name = "busy"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Once."""
        await api.get(W, request)
        await _noted(api, "b", "one", "1")
        await _noted(api, "b", "two", "2")


@case
def a_timer_beside_a_busy_controller() -> Scenario:
    """A timer may fire before another controller has done its work, and is early then."""
    return Scenario(
        [Waits(), Busy()],
        crds=[CRD],
        objects=[WIDGET],
        properties=[
            never(
                lambda cluster: (
                    "passed" in (cluster.get(W, "w")["metadata"].get("annotations") or {})
                    and "two" not in data_of(cluster, "b")
                ),
                name="early",
            ),
            never(
                lambda cluster: (cluster.get(W, "w")["metadata"].get("annotations") or {}).get("passed") == "no",
                name="no time",
            ),
        ],
        bounds=Bounds(lag=0, faults=0),
        guards=OFF,
    )


class First(Controller):
    """Looks again at one widget after five seconds and at the other after ten, and notes which came first."""

    kind = W
    name = "first"

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Until it was noted."""
        w = await api.get(W, request)
        labels = w["metadata"].get("labels") or {}
        if "seen" not in labels:
            with contextlib.suppress(Conflict):
                await patched(api, w, metadata={**w["metadata"], "labels": {"seen": "1"}})
            return Result(requeue_after=5 if request.name == "w" else 10)
        if "due" not in labels:
            first = await made(api, cm("first", {"name": request.name}))
            with contextlib.suppress(Conflict):
                await patched(
                    api, w, metadata={**w["metadata"], "labels": {**labels, "due": "first" if first else "second"}}
                )
        return None


@case
def the_shorter_of_two_timers() -> Scenario:
    """An early timer may be the longer one of two."""
    return Scenario(
        [First()],
        crds=[CRD],
        objects=[WIDGET, OTHER],
        properties=[never(lambda cluster: data_of(cluster, "first").get("name") == "v", name="the longer one")],
        bounds=Bounds(lag=0, faults=0),
        guards=OFF,
    )


class Rents(Controller):
    """Makes a config map in a namespace for each widget, and notes when it is refused."""

    kind = W
    name = "rents"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Once."""
        w = await api.get(W, request)
        if w["metadata"].get("labels"):
            return
        outcome = "made"
        try:
            await made(api, cm("room", {"for": request.name}, namespace="rented"))
        except NotFound:
            outcome = "gone"
        except ApiError as error:
            if error.code != 403:
                raise
            outcome = "ending"
        with contextlib.suppress(Conflict):
            await patched(api, w, metadata={**w["metadata"], "labels": {"outcome": outcome}})


@case
def a_namespace_that_goes_away() -> Scenario:
    """A create meets a namespace that is there, or was deleted."""
    outcomes = ("made", "gone", "ending")
    return Scenario(
        [Rents()],
        crds=[CRD],
        objects=[NAMESPACE, WIDGET],
        actions=[delete(NAMESPACE)],
        properties=[
            never(
                lambda cluster, outcome=outcome: (
                    (cluster.get(W, "w")["metadata"].get("labels") or {}).get("outcome") == outcome
                ),
                name=outcome,
            )
            for outcome in outcomes
        ],
        bounds=Bounds(lag=1, faults=1, failed=0, lost=0),
        guards=OFF,
    )


@case
def a_namespace_with_contents_that_goes_away() -> Scenario:
    """Its contents go with it, and a lagging cache still shows them."""

    class Copies(Controller):
        kind = CM
        name = "copies"

        async def reconcile(self, request: Request, api: Api) -> None:
            if request.namespace != "rented":
                return
            try:
                room = await api.get(CM, request)
            except NotFound:
                return
            if await made(api, cm("copy", dict(room.get("data") or {}))):
                return
            copied = await api.live.get(CM, Request("default", "copy"))
            if copied.get("data") != room.get("data"):
                copied["data"] = copy.deepcopy(room.get("data"))
                with contextlib.suppress(Conflict):
                    await api.update(copied)

    room = cm("room", {"a": "1"}, namespace="rented")
    return Scenario(
        [Copies()],
        crds=[],
        objects=[NAMESPACE, room],
        actions=[update(room, data={"a": "2"}), delete(NAMESPACE)],
        properties=[
            never(
                lambda cluster: (
                    data_of(cluster, "copy").get("a") == "1"
                    and not any(obj["metadata"]["namespace"] == "rented" for obj in cluster.list(CM))
                ),
                name="outlived",
            )
        ],
        bounds=Bounds(lag=1, faults=1, failed=0, lost=0),
        guards=OFF,
    )


class _Late(Controller):
    """Makes something, and marks its widget some seconds later."""

    kind = W
    name = "late"

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Make or mark."""
        widget = await api.live.get(W, request)
        if await made(api, cm("out")):
            return Result(requeue_after=5)
        if not widget.get("status"):
            base = copy.deepcopy(widget)
            widget["status"] = {"late": True}
            await api.status.patch(widget, merge_from(base))
        return None


def _beside_one_that_looks_again(result: Result) -> Scenario:
    class Looks(Controller):
        kind = W
        name = "looks"

        async def reconcile(self, request: Request, api: Api) -> Result:
            await api.get(W, request)
            return result

    return Scenario([Looks(), _Late()], crds=[CRD], objects=[WIDGET], bounds=Bounds(faults=0, lag=0), guards=OFF)


@case
def a_timer_beside_a_shorter_one_that_comes_again() -> Scenario:
    """A controller that looks again every second does not keep another one from looking after five."""
    return _beside_one_that_looks_again(Result(requeue_after=1))


@case
def a_timer_beside_retries_without_end() -> Scenario:
    """Nor does one that asks to run again at once."""
    return _beside_one_that_looks_again(Result(requeue=True))


@case
def a_timer_beside_one_that_toggles() -> Scenario:
    """A controller that changes something at every short timer does not make another one's work a surprise."""

    class Toggles(Controller):
        kind = W
        name = "toggles"

        async def reconcile(self, request: Request, api: Api) -> Result:
            del request
            switch = await api.live.get(CM, Request("default", "switch"))
            switch["data"] = {"on": "no" if switch["data"]["on"] == "yes" else "yes"}
            await api.update(switch)
            return Result(requeue_after=1)

    return Scenario(
        [Toggles(), _Late()],
        crds=[CRD],
        objects=[WIDGET, cm("switch", {"on": "no"})],
        bounds=Bounds(faults=0, lag=0),
        guards=OFF,
    )


class _Sizes(Controller):
    """Notes the size and resets it: the second write is refused as long as the first one changes something."""

    kind = W
    name = "sizes"
    predicates: ClassVar[dict[str, Predicate]] = {W: LabelChanged()}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Note, then reset."""
        w = await api.live.get(W, request)
        await api.status.patch(copy.deepcopy(w), merge_patch({"status": {"noted": w["spec"]["size"]}}))
        w["spec"]["size"] = 0
        await api.update(w)


def _resized(*properties: Property) -> Scenario:
    return Scenario(
        [_Sizes()],
        crds=[CRD],
        objects=[WIDGET],
        actions=[update(WIDGET, metadata={"labels": {"seen": "yes"}}), update(WIDGET, spec={"size": 2})],
        properties=list(properties),
        bounds=Bounds(faults=0, lag=0),
        guards=OFF,
    )


@case
def a_delay_that_ends_in_the_middle_of_a_reconcile() -> Scenario:
    """The request runs once more after the retry that the end of the reconcile asks for."""
    return _resized()


@case
def a_write_after_a_delay_that_ends_in_the_middle() -> Scenario:
    """So the size that was reset is noted, too, though no user was in the way."""

    def notes_the_reset(before: Cluster, after: Cluster) -> bool:
        old, new = (cluster.get(W, "w").get("status", {}).get("noted") for cluster in (before, after))
        return (old, new) == (2, 0)

    return _resized(never(notes_the_reset, name="notes the reset"))


@case
def stamps_beside_a_reconcile_that_always_fails() -> Scenario:
    """One widget stops failing when the user acts, and stamps the time from then on; the other fails for ever."""

    class Stamps(Controller):
        kind = W

        async def reconcile(self, request: Request, api: Api) -> None:
            w = await api.get(W, request)
            if not w["metadata"].get("labels"):
                await api.create(cm("out"))
            stamp = merge_patch({"metadata": {"annotations": {"stamped": api.now()}}})
            await api.patch(w, stamp)

    return Scenario(
        [Stamps()],
        crds=[CRD],
        objects=[WIDGET, OTHER],
        actions=[update(WIDGET, metadata={"labels": {"ready": "yes"}})],
        bounds=Bounds(faults=0, lag=0),
        guards=OFF,
    )
