"""The reconcile of Flux's source-controller, line by line, with its patch helper.

A reconcile stores its progress several times. Each time the helper sends up to three requests: conditions, locked by
the version in the cache and tried again five times within a second; metadata; and the rest of the status. The second
and the third are sent even when the first fails. ``README.md`` says what follows from that.
"""

import asyncio
import random
from collections.abc import Awaitable
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar

from kontend import (
    Api,
    Cluster,
    Conflict,
    Controller,
    Guards,
    NotFound,
    Request,
    Result,
    get_condition,
    merge_from,
    new_object,
)
from kontend.explore import Bounds, Scenario, eventually, never, update
from kontend.predicates import GenerationChanged, Predicate
from kontend.testing import permissive_crd

SOURCE = "GitRepository.source.toolkit.fluxcd.io/v1"
FINALIZER = "finalizers.fluxcd.io"
Object = dict[str, Any]


class PatchFailed(Exception):
    """Some of the requests of a patch failed."""


class Sources(Controller):
    """Checks a revision out and stores it as an artifact."""

    kind = SOURCE
    predicates: ClassVar[dict[str, Predicate]] = {SOURCE: GenerationChanged()}
    #: Seconds that a checkout takes.
    checkout: float = 2.0
    #: Attempts of the helper to store conditions.
    attempts: int = 5
    #: The twins: read conditions from the server, store the status in one request, stamp the generation that was read.
    reads_live = False
    one_request = False
    stamps_what_was_read = False

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        try:
            source = await api.get(SOURCE, request)
        except NotFound:
            return None
        source.setdefault("status", {})
        patcher = _Patcher(self, api, source)
        error: PatchFailed | None = None
        requeue = False
        if FINALIZER not in source["metadata"].get("finalizers", []):
            source["metadata"]["finalizers"] = [*source["metadata"].get("finalizers", []), FINALIZER]
            requeue = True
        else:
            try:
                await self._reconcile(source, patcher)
            except PatchFailed as failed:
                error = failed
        _summarize(source, patcher, error=error, requeue=requeue)
        observed = error is None and not requeue and bool(source["status"].get("conditions"))
        await patcher.patch(source, observed=observed)
        if error is not None:
            raise error
        return Result(requeue=requeue)

    async def _reconcile(self, source: Object, patcher: "_Patcher") -> None:
        status, generation = source["status"], source["metadata"]["generation"]
        patcher.progress(source, "reconciliation in progress")
        if generation != status.get("observedGeneration"):
            observed = status.get("observedGeneration")
            patcher.progress(source, f"processing object: new generation {observed} -> {generation}")
            await patcher.patch(source)
        if "artifact" not in status:
            patcher.progress(source, "building artifact", drift=True)
            await patcher.patch(source)
        await asyncio.sleep(self.checkout)
        revision = source["spec"]["tag"]
        if status.get("artifact") != revision:
            patcher.progress(source, f"building artifact: new upstream revision {revision}", drift=True)
            await patcher.patch(source)
        status["artifact"] = revision
        patcher.set(source, "ArtifactInStorage", "True", "Succeeded", f"stored artifact for revision {revision}")


class _Patcher:
    """Flux's SerialPatcher: each patch is the difference to the last one that succeeded."""

    def __init__(self, controller: Sources, api: Api, source: Object) -> None:
        self._controller = controller
        self._api = api
        self._before = deepcopy(source)
        self._read = source["metadata"]["generation"]

    def progress(self, source: Object, message: str, *, drift: bool = False) -> None:
        """Mark the object as reconciling, and (drift, or never ready before) as not ready."""
        self.set(source, "Reconciling", "True", "Progressing", message)
        if drift or get_condition(source, "Ready") is None:
            self.set(source, "Ready", "Unknown", "Progressing", message)

    def set(self, source: Object, type: str, status: str, reason: str, message: str) -> None:
        """Set a condition, stamped with the generation of the object that it is set on; an equal one stays."""
        generation = self._read if self._controller.stamps_what_was_read else source["metadata"]["generation"]
        wanted = {"type": type, "status": status, "reason": reason, "message": message}
        wanted["observedGeneration"] = generation
        conditions: list[Object] = source["status"].setdefault("conditions", [])
        known = get_condition(source, type)
        if known is None:
            conditions.append({**wanted, "lastTransitionTime": self._api.now()})
        elif {name: value for name, value in known.items() if name != "lastTransitionTime"} != wanted:
            conditions[conditions.index(known)] = {**wanted, "lastTransitionTime": self._api.now()}

    async def patch(self, source: Object, *, observed: bool = False) -> None:
        """Send what has changed: conditions, then metadata, then the rest; the last two in any case."""
        if observed:
            source["status"]["observedGeneration"] = source["metadata"]["generation"]
        if self._controller.one_request:
            await self._patch_at_once(source)
        else:
            errors = [
                await self._tried(self._patch_conditions(source)),
                await self._tried(self._patch_metadata(source)),
            ]
            errors.append(await self._tried(self._patch_status(source)))
            if any(errors):
                raise PatchFailed("; ".join(filter(None, errors)))
        self._before = deepcopy(source)

    async def _tried(self, request: Awaitable[None]) -> str:
        try:
            await request
        except (Conflict, TimeoutError) as error:
            return str(error)
        return ""

    async def _patch_conditions(self, source: Object) -> None:
        old = {condition["type"]: condition for condition in self._before["status"].get("conditions", [])}
        new = {condition["type"]: condition for condition in source["status"].get("conditions", [])}
        if old == new:
            return
        jitter = random.Random(self._api.uuid())
        for attempt in range(self._controller.attempts):
            if attempt:
                await asyncio.sleep(0.1 * (1 + jitter.random()))
            reader = self._api.live if self._controller.reads_live else self._api
            latest = await reader.get(SOURCE, _key(source))
            latest.setdefault("status", {})
            base = deepcopy(latest)
            for type, condition in new.items():
                if condition != old.get(type):
                    self.set(latest, type, condition["status"], condition["reason"], condition["message"])
            kept = [
                condition
                for condition in latest["status"].get("conditions", [])
                if condition["type"] in new or condition["type"] not in old
            ]
            latest["status"]["conditions"] = kept
            try:
                await self._api.status.patch(latest, merge_from(base, lock=True))
                return
            except Conflict:
                continue
        raise TimeoutError("timed out waiting for the condition")

    async def _patch_metadata(self, source: Object) -> None:
        if source["metadata"].get("finalizers") != self._before["metadata"].get("finalizers"):
            latest = deepcopy(self._before)
            latest["metadata"]["finalizers"] = source["metadata"]["finalizers"]
            await self._api.patch(latest, merge_from(self._before))

    async def _patch_status(self, source: Object) -> None:
        if source["status"] != self._before["status"]:
            latest = deepcopy(source)
            latest["status"]["conditions"] = self._before["status"].get("conditions", [])
            if not latest["status"]["conditions"]:
                del latest["status"]["conditions"]
            await self._api.status.patch(latest, merge_from(self._before, lock=False))

    async def _patch_at_once(self, source: Object) -> None:
        await self._patch_metadata(source)
        if source["status"] != self._before["status"]:
            await self._api.status.patch(deepcopy(source), merge_from(self._before, lock=False))


def _summarize(source: Object, patcher: _Patcher, *, error: PatchFailed | None, requeue: bool) -> None:
    """Derive Ready from the other conditions."""
    reconciling = get_condition(source, "Reconciling")
    if reconciling is not None and error is not None:
        patcher.set(source, "Reconciling", "True", "ProgressingWithRetry", reconciling["message"])
        patcher.set(source, "Ready", "Unknown", "ProgressingWithRetry", reconciling["message"])
    elif error is None and not requeue:
        conditions = [condition for condition in source["status"]["conditions"] if condition["type"] != "Reconciling"]
        source["status"]["conditions"] = conditions
        stored = get_condition(source, "ArtifactInStorage")
        if stored is not None:
            patcher.set(source, "Ready", "True", "Succeeded", stored["message"])


def _key(source: Object) -> str:
    return f"{source['metadata']['namespace']}/{source['metadata']['name']}"


class Live(Sources):
    """Reads conditions from the server before each attempt."""

    name = "sources"
    reads_live = True


class OneRequest(Sources):
    """Stores the whole status in one request."""

    name = "sources"
    one_request = True


class StampsWhatWasRead(Sources):
    """Stamps conditions with the generation that the reconcile began with."""

    name = "sources"
    stamps_what_was_read = True


def _source(cluster: Cluster) -> Object:
    found = cluster.list(SOURCE)
    return found[0] if found else {"metadata": {"generation": 0}, "status": {}}


def ready(cluster: Cluster) -> bool:
    """The generation is observed and ready, and nothing is reconciling."""
    source = _source(cluster)
    condition = get_condition(source, "Ready")
    observed = source.get("status", {}).get("observedGeneration") == source["metadata"]["generation"]
    return (
        observed
        and condition is not None
        and condition["status"] == "True"
        and not get_condition(source, "Reconciling")
    )


def torn(cluster: Cluster) -> bool:
    """The generation is observed, and its conditions are those of earlier."""
    source = _source(cluster)
    observed = source.get("status", {}).get("observedGeneration") == source["metadata"]["generation"]
    condition = get_condition(source, "Ready")
    return observed and (condition is None or condition["status"] != "True")


def ready_for_the_future(cluster: Cluster) -> bool:
    """Ready carries the present generation, and is about the revision of an earlier one."""
    source = _source(cluster)
    condition = get_condition(source, "Ready")
    if condition is None or condition["status"] != "True":
        return False
    present = condition["observedGeneration"] == source["metadata"]["generation"]
    return present and not condition["message"].endswith(source["spec"]["tag"])


def artifact_without_observed_generation(cluster: Cluster) -> bool:
    """The symptom that was published."""
    status = _source(cluster).get("status", {})
    return "artifact" in status and status.get("observedGeneration", 0) <= 0


_new = new_object(SOURCE, "s", spec={"tag": "v1"}, status={"observedGeneration": -1})
_healthy = new_object(SOURCE, "s", spec={"tag": "v1"})
_healthy["metadata"]["finalizers"] = [FINALIZER]
_healthy["status"] = {
    "observedGeneration": 1,
    "artifact": "v1",
    "conditions": [
        {"type": type, "status": "True", "reason": "Succeeded", "message": "stored artifact for revision v1"}
        | {"observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for type in ("ArtifactInStorage", "Ready")
    ],
}

# Five attempts, each of which may read a cache that lags, make tens of thousands of runs: this one goes without lag.
create = Scenario(
    controllers=[Sources()],
    crds=[permissive_crd(SOURCE, plural="gitrepositories")],
    objects=[_new],
    properties=[eventually(ready), never(artifact_without_observed_generation)],
    guards=Guards.off(),
    bounds=Bounds(lag=0),
)
# The bug shows within 2,000 states; with the default bounds the search goes on for another 5,000.
change = replace(
    create, objects=[_healthy], actions=[update(_healthy, spec={"tag": "v2"})], bounds=Bounds(states=2_000)
)
live = replace(create, controllers=[Live()], bounds=Bounds())
waits_for_own_writes = replace(create, guards=replace(Guards.off(), read_your_writes=True), bounds=Bounds())
one_request = replace(create, controllers=[OneRequest()], bounds=Bounds())
