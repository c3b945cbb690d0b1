"""The DaemonSet controller: one pod on every node that fits.

A pod names its node by an affinity and leaves the rest to the scheduler. A new template makes a new revision, and the
pods of older ones are replaced node by node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from kontend.cluster.times import seconds
from kontend.controllers.adoption import claim
from kontend.controllers.built_in import BuiltIn
from kontend.controllers.nodes.node_fit import NO_EXECUTE, NODES, selects, tolerates
from kontend.controllers.workloads.int_or_percent import scaled
from kontend.controllers.workloads.pods import (
    CONTROLLER,
    PODS,
    by_controller,
    is_available,
    is_namespace_terminating,
    is_ready,
    phase_of,
    pod_from,
    pods_of,
    selecting,
)
from kontend.controllers.workloads.revisions import HASH_LABEL, REVISIONS, new_revision, revisions_of
from kontend.controllers.workloads.template_hash import template_hash
from kontend.kube.builtin.strategies.workloads import TEMPLATE_GENERATION
from kontend.kube.errors import AlreadyExists, ApiError, NotFound
from kontend.kube.meta.accessors import is_deleting, labels_of
from kontend.kube.meta.names import Key, key_of
from kontend.kube.meta.selectors import selector_from_json
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Indexer, Mapper, Request, Result

DAEMON_SETS: Final = "DaemonSet.apps/v1"
_GENERATION_LABEL: Final = "pod-template-generation"
_NODE: Final = "node.kubernetes.io"
#: Tolerations of every daemon: it stays on a node in trouble.
_TOLERATED: Final = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)


def _every_daemon_set(_node: Object, cache: Cache) -> Iterator[Key]:
    for daemon_set in cache.list(DAEMON_SETS):
        yield key_of(daemon_set)


@dataclass(slots=True)
class Daemons:
    """A DaemonSet, its nodes, and its pods by node."""

    daemon_set: Object
    hash: str
    nodes: list[Object]
    pods: dict[str, list[Object]]
    now: str

    @property
    def spec(self) -> dict[str, Any]:
        """The spec of the DaemonSet."""
        spec: dict[str, Any] = self.daemon_set["spec"]
        return spec

    @property
    def wanted(self) -> list[Object]:
        """The nodes that should have a pod."""
        return [node for node in self.nodes if self.fit(node)[0]]

    def fit(self, node: Object) -> tuple[bool, bool]:
        """Report whether a pod should be on a node, and whether one that is there may stay."""
        spec = self.spec["template"].get("spec") or {}
        named = spec.get("nodeName")
        if (named and named != node["metadata"]["name"]) or not selects(spec, node):
            return False, False
        tolerations = _with_tolerations(spec)
        if tolerates(tolerations, node):
            return True, True
        return False, tolerates(tolerations, node, [NO_EXECUTE])

    def is_updated(self, pod: Object) -> bool:
        """Report whether a pod is of the newest revision."""
        labels = labels_of(pod)
        generation = (self.daemon_set["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION)
        same = generation is not None and labels.get(_GENERATION_LABEL) == generation
        return labels.get(HASH_LABEL) == self.hash or same

    def is_available(self, pod: Object) -> bool:
        """Report whether a pod is available."""
        return is_available(pod, self.spec.get("minReadySeconds") or 0, self.now)

    @property
    def budget(self) -> tuple[int, int]:
        """Returns how many nodes may have two pods during an update, and how many none."""
        rolling = (self.spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
        count = len(self.wanted)
        surge = scaled(rolling.get("maxSurge"), count, up=True)
        missing = scaled(rolling.get("maxUnavailable"), count, up=True)
        return surge, missing if surge or missing else 1

    def on_node(self, name: str) -> list[Object]:
        """Return the pods for a node, the one that counts first."""
        pods = self.pods.get(name) or []
        return sorted(
            pods,
            key=lambda pod: (
                not (pod.get("spec") or {}).get("nodeName"),
                pod["metadata"].get("creationTimestamp") or "",
                pod["metadata"]["name"],
            ),
        )


class DaemonSets(BuiltIn):
    """Keeps a pod of each DaemonSet on every node."""

    name = "daemonset"
    kind = DAEMON_SETS
    owns = (PODS,)
    watches: ClassVar[Mapping[str, Mapper]] = {PODS: selecting(DAEMON_SETS), NODES: _every_daemon_set}
    indexes: ClassVar[Mapping[str, Mapping[str, Indexer]]] = {PODS: {CONTROLLER: by_controller}}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Make and remove pods, take a step of an update, and write the status."""
        try:
            daemon_set = await api.get(DAEMON_SETS, request)
        except NotFound:
            return None
        if is_deleting(daemon_set):
            return None
        current, old = await self._revisions(api, daemon_set)
        word = labels_of(current)[HASH_LABEL]
        nodes = await api.list(NODES)
        daemons = await self._daemons(api, daemon_set, word, nodes)
        failure: ApiError | None = None
        wait = None
        try:
            create, delete, wait = _manage(daemons)
            if not create and not delete and (daemons.spec.get("updateStrategy") or {}).get("type") == "RollingUpdate":
                create, delete = _update(daemons)
            for node in create:
                await self._create(api, daemons, node)
            for pod in delete:
                await _delete(api, pod)
            await _forget(api, daemons, old)
        except ApiError as error:
            failure = error
        daemons = await self._daemons(api, daemon_set, word, nodes)
        status = _status(daemons)
        await self._write_status(api, daemon_set, status)
        if failure is not None:
            raise failure
        if daemons.spec.get("minReadySeconds") and status["numberReady"] != status["numberAvailable"]:
            wait = float(daemons.spec["minReadySeconds"])
        return Result(requeue_after=wait) if wait is not None else None

    async def _daemons(self, api: Api, daemon_set: Object, word: str, nodes: list[Object]) -> Daemons:
        selector = selector_from_json(daemon_set["spec"]["selector"])
        pods: dict[str, list[Object]] = {}
        for pod in await claim(api, daemon_set, await pods_of(api, daemon_set), selector):
            pods.setdefault(node_for(pod), []).append(pod)
        return Daemons(daemon_set, word, nodes, pods, api.now())

    async def _revisions(self, api: Api, daemon_set: Object) -> tuple[Object, list[Object]]:
        """Return the revision of the template, made if it is not there, and all others."""
        revisions = await revisions_of(api, daemon_set)
        wanted = new_revision(daemon_set, 1)
        current = [revision for revision in revisions if revision.get("data") == wanted["data"]]
        old = [revision for revision in revisions if revision.get("data") != wanted["data"]]
        number = max((revision.get("revision", 0) for revision in old), default=0) + 1
        if current:
            newest = current[-1]
            if newest.get("revision", 0) < number:
                newest["revision"] = number
                await api.update(newest)
            return newest, old
        word = template_hash(daemon_set["spec"]["template"], (daemon_set.get("status") or {}).get("collisionCount"))
        wanted["revision"] = number
        wanted["metadata"]["name"] = f"{daemon_set['metadata']['name']}-{word}"
        wanted["metadata"]["labels"][HASH_LABEL] = word
        data = deepcopy(wanted["data"])
        try:
            await api.create(wanted)
        except AlreadyExists:
            namespace = daemon_set["metadata"]["namespace"]
            existing = await api.live.get(REVISIONS, Key(namespace, wanted["metadata"]["name"]))
            if existing.get("data") == data:
                return existing, old
            status = daemon_set.setdefault("status", {})
            status["collisionCount"] = (status.get("collisionCount") or 0) + 1
            await api.status.update(daemon_set)
            raise
        return wanted, old

    async def _create(self, api: Api, daemons: Daemons, node: str) -> None:
        try:
            await api.create(_new_pod(daemons, node))
        except ApiError as error:
            if not is_namespace_terminating(error):
                raise

    async def _write_status(self, api: Api, daemon_set: Object, status: dict[str, int]) -> None:
        old = daemon_set.get("status") or {}
        observed = old.get("observedGeneration", 0) >= daemon_set["metadata"].get("generation", 0)
        if observed and all(old.get(name, 0) == value for name, value in status.items()):
            return
        shown = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
        kept = {name: value for name, value in old.items() if name not in status}
        new = {name: value for name, value in status.items() if value or name in shown}
        generation = {"observedGeneration": daemon_set["metadata"].get("generation", 0)}
        daemon_set["status"] = {**kept, **new, **generation}
        await api.status.update(daemon_set)


def node_for(pod: Mapping[str, Any]) -> str:
    """Return the node that a pod is on, or should be."""
    spec = pod.get("spec") or {}
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("operator") == "In" and len(field["values"]) == 1:
                return str(field["values"][0])
    return ""


def _with_tolerations(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tolerations of a daemon: its own, and those that all daemons have."""
    named = [*_TOLERATED, *([("network-unavailable", "NoSchedule")] if spec.get("hostNetwork") else [])]
    tolerations = [dict(toleration) for toleration in spec.get("tolerations") or ()]
    for key, effect in named:
        wanted = {"key": f"{_NODE}/{key}", "operator": "Exists", "effect": effect}
        if wanted not in tolerations:
            tolerations.append(wanted)
    return tolerations


def _new_pod(daemons: Daemons, node: str) -> Object:
    """Return a pod for a node."""
    pod = pod_from(daemons.spec["template"], daemons.daemon_set)
    labels, spec = pod["metadata"].setdefault("labels", {}), pod["spec"]
    generation = (daemons.daemon_set["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION)
    if generation is not None:
        labels[_GENERATION_LABEL] = generation
    labels[HASH_LABEL] = daemons.hash
    spec["tolerations"] = _with_tolerations(spec)
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return pod


def _manage(daemons: Daemons) -> tuple[list[str], list[Object], float | None]:
    """Nodes that need a pod, pods that must go, and when to look at a failed pod again."""
    create: list[str] = []
    delete: list[Object] = []
    wait: float | None = None
    surge = daemons.budget[0] > 0
    for node in daemons.nodes:
        name = node["metadata"]["name"]
        should, may_stay = daemons.fit(node)
        pods = [pod for pod in daemons.on_node(name) if not is_deleting(pod)]
        if should and name not in daemons.pods:
            create.append(name)
        elif may_stay:
            failed = [pod for pod in pods if phase_of(pod) == "Failed"]
            fresh = [pod for pod in failed if _age(pod, daemons.now) < 1]
            wait = 1.0 if fresh else wait
            delete += [pod for pod in failed if pod not in fresh]
            delete += [pod for pod in pods if phase_of(pod) == "Succeeded"]
            running = [pod for pod in pods if phase_of(pod) not in ("Failed", "Succeeded")]
            if not surge:
                delete += running[1:]
            elif not running and should:
                create.append(name)
            elif len(running) > 1:
                delete += _too_many(daemons, running)
        else:
            delete += pods
    known = {node["metadata"]["name"] for node in daemons.nodes}
    for name, stranded in daemons.pods.items():
        if name not in known:
            delete += [pod for pod in stranded if not (pod.get("spec") or {}).get("nodeName")]
    return create, delete, wait


def _age(pod: Object, now: str) -> int:
    return seconds(now) - seconds(pod["metadata"]["creationTimestamp"])


def _too_many(daemons: Daemons, running: list[Object]) -> list[Object]:
    """Return the surplus pods of a node during an update: all but one old and one new pod, then the old one."""
    new = [pod for pod in running if daemons.is_updated(pod)]
    old = [pod for pod in running if not daemons.is_updated(pod)]
    gone = [*new[1:], *old[1:]]
    if new and old and (not is_ready(old[0]) or daemons.is_available(new[0])):
        gone.append(old[0])
    return gone


def _update(daemons: Daemons) -> tuple[list[str], list[Object]]:
    """Return the next pods to replace: nodes that get a second pod, and pods that go."""
    surge, missing = daemons.budget
    names = dict.fromkeys([*daemons.pods, *(node["metadata"]["name"] for node in daemons.wanted)])
    broken: list[Object] = []
    working: list[tuple[str, Object]] = []
    busy = 0
    for name in names:
        pods = [pod for pod in daemons.on_node(name) if not is_deleting(pod)]
        new = [pod for pod in pods if daemons.is_updated(pod)]
        old = [pod for pod in pods if not daemons.is_updated(pod)]
        if old and not new:
            if daemons.is_available(old[0]):
                working.append((name, old[0]))
            else:
                broken.append(old[0])
                busy += not surge
        elif surge:
            busy += bool(old and new and not daemons.is_available(new[0]))
        elif not new or old or not daemons.is_available(new[0]):
            busy += 1
    if surge:
        return [*map(node_for, broken), *(name for name, _ in working[: max(0, surge - busy)])], []
    return [], [*broken, *(pod for _, pod in working[: max(0, missing - busy)])]


async def _delete(api: Api, pod: Object) -> None:
    try:
        await api.delete(pod)
    except NotFound:
        return


async def _forget(api: Api, daemons: Daemons, old: list[Object]) -> None:
    """Delete the oldest revisions that no pod uses, down to the limit."""
    used = {labels_of(pod).get(HASH_LABEL) for pods in daemons.pods.values() for pod in pods}
    surplus = len(old) - daemons.spec.get("revisionHistoryLimit", 10)
    for revision in [revision for revision in old if labels_of(revision).get(HASH_LABEL) not in used][
        : max(0, surplus)
    ]:
        await api.delete(revision)


def _status(daemons: Daemons) -> dict[str, int]:
    names = [node["metadata"]["name"] for node in daemons.wanted]
    chosen = [pods[0] for name in names if (pods := daemons.on_node(name))]
    ready = [pod for pod in chosen if is_ready(pod)]
    available = sum(daemons.is_available(pod) for pod in ready)
    others = [node["metadata"]["name"] for node in daemons.nodes if node["metadata"]["name"] not in names]
    return {
        "currentNumberScheduled": len(chosen),
        "numberMisscheduled": sum(bool(daemons.pods.get(name)) for name in others),
        "desiredNumberScheduled": len(names),
        "numberReady": len(ready),
        "updatedNumberScheduled": sum(daemons.is_updated(pod) for pod in chosen),
        "numberAvailable": available,
        "numberUnavailable": len(names) - available,
    }
