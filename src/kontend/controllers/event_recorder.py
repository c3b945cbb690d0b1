"""Events of the built-in controllers, in the words of the real ones.

The recorder listens to what happens (a pod is created for a ReplicaSet, a pod is bound, a Job completes) and writes the
Events that kube-controller-manager, the scheduler and the kubelet write about it. It stands beside the controllers, so
that they stay the same in unit tests and explorations, where nobody reads Events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import xxhash

from kontend.cluster.cluster import Cluster
from kontend.controllers.batch.cron_schedule import parse_cron
from kontend.kube.builtin.cron_schedule import ScheduleError
from kontend.kube.errors import ApiError
from kontend.runtime.client.patches import Object
from kontend.runtime.predicates import Event

KINDS: Final = ("Pod/v1", "ReplicaSet.apps/v1", "Job.batch/v1", "CronJob.batch/v1", "Node/v1")
_CREATORS: Final = {
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replication-controller",
    "Job": "job-controller",
    "DaemonSet": "daemonset-controller",
    "StatefulSet": "statefulset-controller",
}


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to tell about an object."""

    about: Mapping[str, str]
    reason: str
    message: str
    component: str
    type: str = "Normal"
    host: str = ""


class EventRecorder:
    """Writes Events about what it hears."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pending: list[Note] = []
        self._began = cluster.now

    def hear(self, event: Event) -> None:
        """Queues an event about a change; it is written later, when no cache is being fed."""
        if event.old is None and event.new is not None:
            created = event.new["metadata"].get("creationTimestamp") or ""
            if created < self._began:
                return  # it was there before: this is the first list
        self._pending += _NOTES[event.kind](event.old, event.new)

    def flush(self) -> None:
        """Write what has gathered."""
        pending, self._pending = self._pending, []
        for note in pending:
            self._write(note)

    def _write(self, note: Note) -> None:
        namespace = note.about.get("namespace") or "default"
        identity = "/".join((note.about.get("uid", ""), note.reason, note.message, note.component))
        name = f"{note.about['name']}.{xxhash.xxh3_64_hexdigest(identity.encode())}"
        now = self._cluster.now
        try:
            earlier = self._cluster.get("Event/v1", name, namespace=namespace)
            again = {"count": (earlier.get("count") or 1) + 1, "lastTimestamp": now}
            self._cluster.patch("Event/v1", name, again, namespace=namespace, manager=note.component)
        except ApiError:
            source = {"component": note.component, **({"host": note.host} if note.host else {})}
            made = {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": name, "namespace": namespace},
                "involvedObject": dict(note.about),
                "reason": note.reason,
                "message": note.message,
                "source": source,
                "firstTimestamp": now,
                "lastTimestamp": now,
                "count": 1,
                "type": note.type,
                "reportingComponent": note.component,
                "reportingInstance": note.host,
            }
            try:
                self._cluster.create(made, manager=note.component)
            except ApiError:
                return  # the namespace is terminating


def _about(obj: Object, kind: str, field_path: str = "") -> dict[str, str]:
    metadata = obj["metadata"]
    reference = {
        "kind": kind.partition(".")[0].partition("/")[0],
        "namespace": metadata.get("namespace", ""),
        "name": metadata["name"],
        "uid": metadata.get("uid", ""),
        "apiVersion": obj.get("apiVersion") or kind.partition(".")[2] or "v1",
        "resourceVersion": metadata.get("resourceVersion", ""),
        "fieldPath": field_path,
    }
    return {name: value for name, value in reference.items() if value}


def _owner(obj: Object) -> dict[str, str] | None:
    """Return a reference to the controller of an object."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            reference = {name: owner[name] for name in ("apiVersion", "kind", "name", "uid")}
            return {**reference, "namespace": obj["metadata"].get("namespace", "")}
    return None


def _of_pod(old: Object | None, new: Object | None) -> Iterator[Note]:
    pod = new or old
    assert pod is not None  # an event is about something
    name, owner = pod["metadata"]["name"], _owner(pod)
    component = _CREATORS.get(owner["kind"]) if owner else None
    stateful = owner is not None and owner["kind"] == "StatefulSet"
    if owner and component and old is None:
        made = f"create Pod {name} in StatefulSet {owner['name']} successful" if stateful else f"Created pod: {name}"
        yield Note(owner, "SuccessfulCreate", made, component)
    going = new is None or bool(new["metadata"].get("deletionTimestamp"))
    was_going = old is not None and bool(old["metadata"].get("deletionTimestamp"))
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    if owner and component and going and not was_going and old is not None and not ended:
        gone = f"delete Pod {name} in StatefulSet {owner['name']} successful" if stateful else f"Deleted pod: {name}"
        yield Note(owner, "SuccessfulDelete", gone, component)
    if new is None:
        return
    node = (new.get("spec") or {}).get("nodeName", "")
    if node and not ((old or {}).get("spec") or {}).get("nodeName"):
        assigned = f"Successfully assigned {new['metadata'].get('namespace', '')}/{name} to {node}"
        yield Note(_about(new, "Pod/v1"), "Scheduled", assigned, "default-scheduler")
    yield from _of_scheduling(old, new)
    yield from _of_containers(old, new, node)


def _of_scheduling(old: Object | None, new: Object) -> Iterator[Note]:
    def refusal(pod: Object | None) -> str:
        for condition in ((pod or {}).get("status") or {}).get("conditions") or ():
            if condition.get("type") == "PodScheduled" and condition.get("reason") == "Unschedulable":
                return str(condition.get("message") or "")
        return ""

    if refusal(new) and refusal(new) != refusal(old):
        about = _about(new, "Pod/v1")
        yield Note(about, "FailedScheduling", refusal(new), "default-scheduler", "Warning")


def _of_containers(old: Object | None, new: Object, node: str) -> Iterator[Note]:
    before = {
        container_status["name"]: container_status
        for container_status in ((old or {}).get("status") or {}).get("containerStatuses") or ()
    }
    for status in (new.get("status") or {}).get("containerStatuses") or ():
        name, state = status["name"], status.get("state") or {}
        earlier = before.get(name) or {}
        about = _about(new, "Pod/v1", f"spec.containers{{{name}}}")
        restarts = status.get("restartCount", 0) - earlier.get("restartCount", 0)
        if "running" in state and ("running" not in (earlier.get("state") or {}) or restarts > 0):
            image = status.get("image", "")
            present = f'Container image "{image}" already present on machine'
            yield Note(about, "Pulled", present, "kubelet", host=node)
            yield Note(about, "Created", f"Created container: {name}", "kubelet", host=node)
            yield Note(about, "Started", f"Started container {name}", "kubelet", host=node)
        waiting = (state.get("waiting") or {}).get("reason")
        if waiting == "CrashLoopBackOff" and restarts > 0:
            back_off = f"Back-off restarting failed container {name} in pod {new['metadata']['name']}"
            yield Note(about, "BackOff", back_off, "kubelet", "Warning", node)
    if new["metadata"].get("deletionTimestamp") and old and not old["metadata"].get("deletionTimestamp"):
        for container in (new.get("spec") or {}).get("containers") or () if node else ():
            about = _about(new, "Pod/v1", f"spec.containers{{{container['name']}}}")
            yield Note(about, "Killing", f"Stopping container {container['name']}", "kubelet", host=node)


def _of_replica_set(old: Object | None, new: Object | None) -> Iterator[Note]:
    owner = _owner(new) if new is not None else None
    if new is None or owner is None or owner["kind"] != "Deployment":
        return
    before = ((old or {}).get("spec") or {}).get("replicas") or 0
    after = new["spec"].get("replicas") or 0
    if before != after:
        direction = "up" if after > before else "down"
        message = f"Scaled {direction} replica set {new['metadata']['name']} from {before} to {after}"
        yield Note(owner, "ScalingReplicaSet", message, "deployment-controller")


def _of_job(old: Object | None, new: Object | None) -> Iterator[Note]:
    if new is None:
        return
    name, owner = new["metadata"]["name"], _owner(new)
    scheduled = owner if owner and owner["kind"] == "CronJob" else None
    if scheduled and old is None:
        yield Note(scheduled, "SuccessfulCreate", f"Created job {name}", "cronjob-controller")
    known = {condition["type"] for condition in ((old or {}).get("status") or {}).get("conditions") or ()}
    for condition in (new.get("status") or {}).get("conditions") or ():
        if condition["status"] != "True" or condition["type"] in known:
            continue
        about = _about(new, "Job.batch/v1")
        if condition["type"] == "Complete":
            yield Note(about, "Completed", "Job completed", "job-controller")
        elif condition["type"] == "Failed":
            reason, message = condition.get("reason") or "Failed", condition.get("message") or ""
            yield Note(about, reason, message, "job-controller", "Warning")
        if scheduled and condition["type"] in ("Complete", "Failed"):
            saw = f"Saw completed job: {name}, condition: {condition['type']}"
            yield Note(scheduled, "SawCompletedJob", saw, "cronjob-controller")


def _of_cron_job(old: Object | None, new: Object | None) -> Iterator[Note]:
    if new is None or (old is not None and old["spec"]["schedule"] == new["spec"]["schedule"]):
        return
    about, text = _about(new, "CronJob.batch/v1"), new["spec"]["schedule"]
    try:
        never = parse_cron(text, new["spec"].get("timeZone") or "").next(0) is None
    except ScheduleError as error:
        yield Note(
            about, "UnparseableSchedule", f"unparseable schedule: {text} : {error}", "cronjob-controller", "Warning"
        )
        return
    if never:
        why = "time difference between two schedules is less than 1 second"
        yield Note(about, "InvalidSchedule", f"invalid schedule: {text} : {why}", "cronjob-controller", "Warning")


def _of_node(old: Object | None, new: Object | None) -> Iterator[Note]:
    if old is None and new is not None:
        name = new["metadata"]["name"]
        about = {"kind": "Node", "name": name, "uid": new["metadata"].get("uid", ""), "apiVersion": "v1"}
        registered = f"Node {name} event: Registered Node {name} in Controller"
        yield Note(about, "RegisteredNode", registered, "node-controller")


_NOTES: Final[Mapping[str, Any]] = {
    "Pod/v1": _of_pod,
    "ReplicaSet.apps/v1": _of_replica_set,
    "Job.batch/v1": _of_job,
    "CronJob.batch/v1": _of_cron_job,
    "Node/v1": _of_node,
}
