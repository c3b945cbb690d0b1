"""The ReplicaSets of a Deployment: the new one among them, their sizes, and the sums over their statuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Final

from kontend.controllers.workloads.int_or_percent import scaled
from kontend.controllers.workloads.template_hash import template_hash
from kontend.runtime.client.patches import Object
from kontend.runtime.writes.owners import owner_reference

HASH_LABEL: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MOST: Final = "deployment.kubernetes.io/max-replicas"
ROLLBACK: Final = "deprecated.deployment.rollback.to"
#: Annotations of a Deployment that are not copied to its ReplicaSets.
_NOT_COPIED: Final = (
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
    ROLLBACK,
)
_LONGEST_HISTORY: Final = 2000
_LONGEST_NAME: Final = 253
UNLIMITED: Final = 2**31 - 1


def replicas_of(obj: Mapping[str, Any]) -> int:
    """Return how many pods an object asks for."""
    return int((obj.get("spec") or {}).get("replicas") or 0)


def wanted(sets: Iterable[Object]) -> int:
    """Return how many pods ReplicaSets ask for together."""
    return sum(replicas_of(replica_set) for replica_set in sets)


def counted(sets: Iterable[Object], name: str) -> int:
    """Return the sum of a number in the status of ReplicaSets."""
    return sum((replica_set.get("status") or {}).get(name) or 0 for replica_set in sets)


def annotations_of(obj: Mapping[str, Any]) -> dict[str, str]:
    """Return the annotations of an object."""
    return dict((obj.get("metadata") or {}).get("annotations") or {})


def number_in(obj: Mapping[str, Any], annotation: str) -> int | None:
    """Return the number in an annotation, if there is one."""
    text = annotations_of(obj).get(annotation, "")
    return int(text) if text.isdecimal() else None


def by_age(sets: Iterable[Object]) -> list[Object]:
    """ReplicaSets, oldest first."""
    return sorted(
        sets,
        key=lambda replica_set: (
            replica_set["metadata"].get("creationTimestamp") or "",
            replica_set["metadata"]["name"],
        ),
    )


def is_rolling(deployment: Mapping[str, Any]) -> bool:
    """Report whether pods are replaced a few at a time."""
    return (deployment["spec"].get("strategy") or {}).get("type") == "RollingUpdate"


def _budget(deployment: Mapping[str, Any]) -> tuple[int, int]:
    """Return ``maxSurge`` and ``maxUnavailable`` as numbers of pods."""
    if not is_rolling(deployment):
        return 0, 0
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge"), replicas_of(deployment), up=True)
    missing = scaled(rolling.get("maxUnavailable"), replicas_of(deployment), up=False)
    return surge, missing if surge or missing else 1


def max_surge(deployment: Mapping[str, Any]) -> int:
    """Return ``maxSurge`` as a number of pods."""
    return _budget(deployment)[0]


def max_unavailable(deployment: Mapping[str, Any]) -> int:
    """Return ``maxUnavailable`` as a number of pods."""
    return min(_budget(deployment)[1], replicas_of(deployment))


def template_without_hash(template: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template as the user wrote it."""
    plain = deepcopy(dict(template))
    labels = (plain.get("metadata") or {}).get("labels") or {}
    labels.pop(HASH_LABEL, None)
    return plain


def find_new(deployment: Object, sets: Iterable[Object]) -> Object | None:
    """Return the ReplicaSet whose template is that of the Deployment."""
    template = template_without_hash(deployment["spec"]["template"])
    return next((e for e in by_age(sets) if template_without_hash(e["spec"]["template"]) == template), None)


def new_size(deployment: Object, sets: Iterable[Object], new: Object) -> int:
    """Return the size that the new ReplicaSet may have now."""
    if not is_rolling(deployment):
        return replicas_of(deployment)
    room = replicas_of(deployment) + max_surge(deployment) - wanted(sets)
    if room <= 0:
        return replicas_of(new)
    return replicas_of(new) + min(room, replicas_of(deployment) - replicas_of(new))


def make_new(deployment: Object) -> Object:
    """Return a ReplicaSet for the template of a Deployment, still without a size."""
    spec, metadata = deployment["spec"], deployment["metadata"]
    word = template_hash(spec["template"], (deployment.get("status") or {}).get("collisionCount"))
    template = deepcopy(spec["template"])
    labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: word}
    template.setdefault("metadata", {})["labels"] = labels
    selector = deepcopy(spec["selector"])
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH_LABEL: word}
    made: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{metadata['name'][: _LONGEST_NAME - 1 - len(word)]}-{word}",
            "namespace": metadata["namespace"],
            "labels": dict(labels),
            "ownerReferences": [owner_reference(deployment, controller=True)],
        },
        "spec": {"replicas": 0, "selector": selector, "template": template},
    }
    if spec.get("minReadySeconds"):
        made["spec"]["minReadySeconds"] = spec["minReadySeconds"]
    return made


def set_sizes(deployment: Object, replica_set: Object) -> bool:
    """Annotates a ReplicaSet with the desired and the maximal size of the Deployment; returns whether they changed."""
    sizes = {
        DESIRED: str(replicas_of(deployment)),
        MOST: str(replicas_of(deployment) + max_surge(deployment)),
    }
    old = annotations_of(replica_set)
    replica_set["metadata"]["annotations"] = {**old, **sizes}
    return any(old.get(name) != value for name, value in sizes.items())


def annotate_new(deployment: Object, new: Object, revision: int, *, exists: bool) -> bool:
    """Copy annotations to the new ReplicaSet and set its revision; return whether anything changed."""
    old = annotations_of(new)
    copied = {name: value for name, value in annotations_of(deployment).items() if name not in _NOT_COPIED}
    annotations = {**old, **copied}
    before = number_in(new, REVISION)
    if before is None and old.get(REVISION):
        return False
    if (before or 0) < revision:
        annotations[REVISION] = str(revision)
        if before is not None:
            annotations[HISTORY] = _longer_history(old.get(HISTORY, ""), str(before))
    new["metadata"]["annotations"] = annotations
    changed = annotations != old
    if not exists:
        set_sizes(deployment, new)
    return changed


def _longer_history(history: str, revision: str) -> str:
    """Return the revisions that a ReplicaSet had, oldest first, as many as there is room for."""
    revisions = [*filter(None, history.split(",")), revision]
    while len(",".join(revisions)) > _LONGEST_HISTORY:
        del revisions[0]
    return ",".join(revisions)


def proportions(deployment: Object, sets: list[Object]) -> dict[str, int]:
    """New sizes for ReplicaSets when a Deployment is scaled in the middle of an update: each gets its share."""
    active = [replica_set for replica_set in sets if replicas_of(replica_set)]
    total = replicas_of(deployment)
    allowed = total + max_surge(deployment) if total else 0
    change = allowed - wanted(active)
    newest_first = sorted(
        by_age(active),
        key=lambda replica_set: replica_set["metadata"].get("creationTimestamp") or "",
        reverse=change > 0,
    )
    active = sorted(newest_first, key=replicas_of, reverse=True)
    sizes = {replica_set["metadata"]["name"]: replicas_of(replica_set) for replica_set in active}
    added = 0
    for owned in active if change else ():
        share = _share(deployment, owned)
        share = min(share, change - added) if change > 0 else max(share, change - added)
        sizes[owned["metadata"]["name"]] += share
        added += share
    if active and change:
        first = active[0]["metadata"]["name"]
        sizes[first] = max(0, sizes[first] + change - added)
    return sizes


def _share(deployment: Object, replica_set: Object) -> int:
    size = replicas_of(replica_set)
    if not replicas_of(deployment):
        return -size
    before = number_in(replica_set, MOST) or (deployment.get("status") or {}).get("replicas") or 0
    if not before:
        return 0
    exact = size * (replicas_of(deployment) + max_surge(deployment)) / before
    return int(exact + 0.5) - size
