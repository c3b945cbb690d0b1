"""The indexes of an indexed Job: each of its pods has a number, and the status lists those that are done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Final

from kontend.controllers.batch.job_policies import failure_action
from kontend.runtime.client.patches import Object

INDEX: Final = "batch.kubernetes.io/job-completion-index"
_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_LONGEST_PREFIX: Final = 58


def parse_indexes(text: str, completions: int) -> set[int]:
    """Return the indexes below ``completions`` that a text names.

    >>> sorted(parse_indexes("1,3-5,9", 5))
    [1, 3, 4]
    """
    indexes: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        indexes.update(range(int(first), int(last or first) + 1))
    return {index for index in indexes if index < completions}


def format_indexes(indexes: Iterable[int]) -> str:
    """Return the shortest text that names indexes.

    >>> format_indexes({1, 3, 4, 5, 7, 8})
    '1,3-5,7,8'
    """
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    parts = []
    for first, last in runs:
        parts.append(str(first))
        if last > first:
            parts[-1] += f",{last}" if last == first + 1 else f"-{last}"
    return ",".join(parts)


def index_of(pod: Mapping[str, Any]) -> int | None:
    """Return the index of a pod."""
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdecimal() else None


def failures_before(pod: Mapping[str, Any]) -> int:
    """Return how often the index of a pod had failed when the pod was made."""
    text = (pod["metadata"].get("annotations") or {}).get(_FAILURES, "0")
    return int(text) if text.isdecimal() else 0


def with_index(pod: Object, job: Object, index: int, failures: int | None) -> None:
    """Assign an index to a new pod."""
    metadata, spec = pod["metadata"], pod["spec"]
    metadata.setdefault("annotations", {})[INDEX] = str(index)
    metadata.setdefault("labels", {})[INDEX] = str(index)
    if failures is not None:
        metadata["annotations"][_FAILURES] = str(failures)
    name, suffix = job["metadata"]["name"], f"-{index}-"
    metadata["generateName"] = name[: _LONGEST_PREFIX - len(suffix)] + suffix
    spec["hostname"] = f"{name}-{index}"
    variable = {"name": _VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}}
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        if all(variable["name"] != _VARIABLE for variable in container.get("env") or ()):
            container["env"] = [*(container.get("env") or ()), deepcopy(variable)]


def failed_indexes(job: Object, failed: Iterable[Object], done: set[int]) -> tuple[set[int], dict[int, int]]:
    """Return the indexes that have failed for good, and how often each of the others has failed."""
    spec = job["spec"]
    text = (job.get("status") or {}).get("failedIndexes") or ""
    lost = parse_indexes(text, spec["completions"]) - done
    failures: dict[int, int] = {}
    for pod in failed:
        index = index_of(pod)
        if index is None or index >= spec["completions"] or index in done:
            continue
        action = failure_action(job, pod)
        count = failures_before(pod) + (action != "Ignore")
        failures[index] = max(failures.get(index, 0), count)
        if action == "FailIndex" or failures[index] > spec["backoffLimitPerIndex"]:
            lost.add(index)
    return lost, failures
