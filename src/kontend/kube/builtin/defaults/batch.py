"""Defaults of jobs."""

from __future__ import annotations

from typing import Final

from kontend.kube.builtin.defaults.pods import pod_spec
from kontend.kube.json_types import Json

_MOST_INT32: Final = 2**31 - 1


def job(obj: Json) -> None:
    """A Job runs one pod to completion."""
    spec = obj["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MOST_INT32 if "backoffLimitPerIndex" in spec else 6)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = labels
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    _job_spec(spec)


def cron_job(obj: Json) -> None:
    """A CronJob keeps a few of its jobs; the template of a job gets only the defaults of what is inside it."""
    spec = obj["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    _job_spec(spec["jobTemplate"]["spec"])


def _job_spec(spec: Json) -> None:
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"
    pod_spec(spec["template"]["spec"])
