"""The pods of a StatefulSet: their numbers, names and volumes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kontend.controllers.workloads.pods import pod_from
from kontend.controllers.workloads.revisions import HASH_LABEL
from kontend.kube.meta.accessors import labels_of
from kontend.runtime.client.patches import Object

_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
_NUMBERED: Final = re.compile(r"(.*)-([0-9]+)")


def parent_and_ordinal(pod: Mapping[str, Any]) -> tuple[str, int]:
    """Return the name before the number of a pod, and the number.

    >>> parent_and_ordinal({"metadata": {"name": "web-2"}}), parent_and_ordinal({"metadata": {"name": "web"}})
    (('web', 2), ('', -1))
    """
    match = _NUMBERED.fullmatch(pod["metadata"]["name"])
    if match is None:
        return "", -1
    number = int(match[2])
    return match[1], number if number < 2**31 else -1


def ordinal_of(pod: Mapping[str, Any]) -> int:
    """Return the number of a pod; -1 when it has none."""
    return parent_and_ordinal(pod)[1]


def is_member(stateful_set: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Report whether a pod has a name of this StatefulSet."""
    return parent_and_ordinal(pod)[0] == str(stateful_set["metadata"]["name"])


def ordinals(stateful_set: Mapping[str, Any]) -> range:
    """Return the ordinals that pods should have."""
    spec = stateful_set["spec"]
    start = int((spec.get("ordinals") or {}).get("start") or 0)
    return range(start, start + int(spec.get("replicas", 1)))


def claim_name(stateful_set: Mapping[str, Any], template: Mapping[str, Any], ordinal: int) -> str:
    """Return the name of a pod's claim to a volume."""
    return f"{template['metadata']['name']}-{stateful_set['metadata']['name']}-{ordinal}"


def new_pod(stateful_set: Object, template: Mapping[str, Any], revision: str, ordinal: int) -> Object:
    """Return a new pod for an ordinal."""
    pod = pod_from(template, stateful_set)
    metadata = pod["metadata"]
    metadata["name"] = f"{stateful_set['metadata']['name']}-{ordinal}"
    metadata.setdefault("labels", {})[HASH_LABEL] = revision
    set_identity(stateful_set, pod)
    pod["spec"]["hostname"] = metadata["name"]
    service = stateful_set["spec"].get("serviceName")
    if service:
        pod["spec"]["subdomain"] = service
    set_storage(stateful_set, pod)
    return pod


def has_identity(stateful_set: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Report whether a pod has the name and the labels of its ordinal."""
    parent, ordinal = parent_and_ordinal(pod)
    name = pod["metadata"]["name"]
    return ordinal >= 0 and parent == stateful_set["metadata"]["name"] and labels_of(pod).get(_NAME_LABEL) == name


def set_identity(stateful_set: Mapping[str, Any], pod: Object) -> None:
    """Give a pod its labels."""
    metadata = pod["metadata"]
    labels = metadata.setdefault("labels", {})
    labels[_NAME_LABEL] = metadata["name"]
    labels[_INDEX_LABEL] = str(ordinal_of(pod))
    metadata["namespace"] = stateful_set["metadata"]["namespace"]


def has_storage(stateful_set: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Report whether a pod uses its own volumes."""
    volumes = {volume["name"]: volume for volume in (pod.get("spec") or {}).get("volumes") or ()}
    ordinal = ordinal_of(pod)
    return all(
        (volumes.get(template["metadata"]["name"], {}).get("persistentVolumeClaim") or {}).get("claimName")
        == claim_name(stateful_set, template, ordinal)
        for template in stateful_set["spec"].get("volumeClaimTemplates") or ()
    )


def set_storage(stateful_set: Mapping[str, Any], pod: Object) -> None:
    """Lets a pod use its own volumes."""
    templates = stateful_set["spec"].get("volumeClaimTemplates") or ()
    ordinal = ordinal_of(pod)
    own = [
        {
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name(stateful_set, template, ordinal)},
        }
        for template in templates
    ]
    names = {volume["name"] for volume in own}
    others = [volume for volume in pod["spec"].get("volumes") or () if volume["name"] not in names]
    if own or others:
        pod["spec"]["volumes"] = [*own, *others]
