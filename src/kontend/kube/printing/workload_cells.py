"""The cells of the server's tables for the kinds that make pods."""

from __future__ import annotations

from typing import Any

from kontend.kube.json_types import JsonView
from kontend.kube.printing.ages import age
from kontend.kube.printing.shared_cells import (
    NONE,
    UNSET,
    age_of,
    containers_of,
    has_condition,
    labels_text,
    meta_of,
    name_of,
    selector_text,
    spec_of,
    status_of,
)


def deployment_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a Deployment."""
    spec, status = spec_of(obj), status_of(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    counts = [status.get("updatedReplicas", 0), status.get("availableReplicas", 0)]
    selector = selector_text(spec.get("selector"), empty="", bad="<invalid>")
    return [name_of(obj), ready, *counts, age_of(obj, now), *containers_of(spec.get("template")), selector]


def replica_set_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a ReplicaSet."""
    return [*_replicas(obj, now), selector_text(spec_of(obj).get("selector"))]


def replication_controller_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a ReplicationController, whose selector is a map of labels."""
    return [*_replicas(obj, now), labels_text(spec_of(obj).get("selector"))]


def _replicas(obj: JsonView, now: str) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    counts = [spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [name_of(obj), *counts, age_of(obj, now), *containers_of(spec.get("template"))]


def stateful_set_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a StatefulSet."""
    ready = f"{status_of(obj).get('readyReplicas', 0)}/{spec_of(obj).get('replicas', 0)}"
    return [name_of(obj), ready, age_of(obj, now), *containers_of(spec_of(obj).get("template"))]


def daemon_set_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a DaemonSet."""
    spec, status = spec_of(obj), status_of(obj)
    names = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    nodes = labels_text(spec_of(spec.get("template") or {}).get("nodeSelector"))
    counts = [status.get(name, 0) for name in names]
    template = containers_of(spec.get("template"))
    return [name_of(obj), *counts, nodes, age_of(obj, now), *template, selector_text(spec.get("selector"))]


def job_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a Job."""
    spec, status = spec_of(obj), status_of(obj)
    done = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    elif (spec.get("parallelism") or 0) > 1:
        completions = f"{done}/1 of {spec['parallelism']}"
    else:
        completions = f"{done}/1"
    started, ended = status.get("startTime"), status.get("completionTime")
    duration = age(started, ended or now) if started else ""
    phase = next((outcome for outcome in ("Complete", "Failed") if has_condition(obj, outcome)), "")
    if not phase and meta_of(obj).get("deletionTimestamp"):
        phase = "Terminating"
    later = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    phase = phase or next((condition for condition in later if has_condition(obj, condition)), "Running")
    template = containers_of(spec.get("template"))
    return [
        name_of(obj),
        phase,
        completions,
        duration,
        age_of(obj, now),
        *template,
        selector_text(spec.get("selector")),
    ]


def cron_job_cells(obj: JsonView, now: str) -> list[Any]:
    """Return the cells of a CronJob."""
    spec, status = spec_of(obj), status_of(obj)
    last = status.get("lastScheduleTime")
    job = spec_of(spec.get("jobTemplate") or {})
    return [
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        UNSET if spec.get("suspend") is None else str(bool(spec["suspend"])),
        len(status.get("active") or ()),
        age(last, now) if last else NONE,
        age_of(obj, now),
        *containers_of(job.get("template")),
        selector_text(job.get("selector")),
    ]
