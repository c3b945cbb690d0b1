"""Objects that the cluster's own controllers derive from others, and the notes that they keep on these.

A Deployment has a ReplicaSet for each template that it ever had, and counts them in an annotation. A user who changes
the template twice before the operator has looked leaves one less, and nothing is wrong: the Deployment is the same. So
an object is not compared if only the cluster's controllers have written it and the object that controls it is there;
that one is compared. What has lost its owner is, because it may be a leak, and so is what the operator has touched.
Listing the kinds that keep a history was rejected: Jobs of a CronJob and slices of a Service are as much derived.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import orjson

from kontend.cluster.state import Version
from kontend.controllers import controllers, pod_controllers
from kontend.controllers.built_in import BuiltIn
from kontend.controllers.storage.provisioning import VolumeProvisioner


@cache
def cluster_managers() -> frozenset[str]:
    """Return the field managers of the cluster's own controllers.

    >>> sorted(cluster_managers())
    ['csi-provisioner', 'kube-controller-manager', 'kube-scheduler', 'kubelet']
    """
    every = [*controllers(), *pod_controllers(), VolumeProvisioner()]
    return frozenset(controller.manager for controller in every if isinstance(controller, BuiltIn))


def is_derived(version: Version, obj: Mapping[str, Any], uids: Collection[str]) -> bool:
    """Return whether an object follows from the one that controls it; ``uids`` are those of the objects that exist.

    A volume follows from its claim.
    """
    references = obj["metadata"].get("ownerReferences") or ()
    owner = next((each for each in references if each.get("controller")), None)
    if owner is None and obj.get("kind") == "PersistentVolume":
        owner = obj["spec"].get("claimRef")
    if owner is None or owner.get("uid") not in uids or not version.managed:
        return False
    return all(entry.manager in cluster_managers() for entry in version.managed)


def notes_of(version: Version) -> frozenset[str]:
    """Return the annotations of an object that the cluster's own controllers keep: nobody else has written them.

    An annotation of nobody is one of theirs. A client older than subresources in managedFields (client-go 0.21) sends
    back two entries of one manager as the same, and the server keeps the last of them.
    """
    if not any(entry.manager in cluster_managers() for entry in version.managed):
        return frozenset()
    others: set[str] = set()
    for entry in version.managed:
        if entry.manager not in cluster_managers():
            metadata = orjson.loads(entry.fields.json).get("f:metadata") or {}
            others.update(name[2:] for name in metadata.get("f:annotations") or {} if name.startswith("f:"))
    return frozenset(version.content()["metadata"].get("annotations") or ()) - others
