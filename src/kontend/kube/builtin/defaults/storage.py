"""Defaults of volumes as objects, of claims on them and of those who provide them."""

from __future__ import annotations

from kontend.kube.builtin.defaults.quantities import round_up
from kontend.kube.builtin.defaults.volumes import claim_spec, volume_source
from kontend.kube.json_types import Json


def persistent_volume(obj: Json) -> None:
    """A PersistentVolume is kept when released."""
    spec = obj["spec"]
    obj["status"].setdefault("phase", "Pending")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    round_up(spec.get("capacity"))
    volume_source(spec)


def persistent_volume_claim(obj: Json) -> None:
    """A claim is pending and wants a file system."""
    obj["status"].setdefault("phase", "Pending")
    claim_spec(obj["spec"])
    round_up(obj["status"].get("capacity"))
    round_up(obj["status"].get("allocatedResources"))


def storage_class(obj: Json) -> None:
    """A StorageClass binds at once and deletes what is released."""
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def csi_driver(obj: Json) -> None:
    """A driver needs attaching and nothing else."""
    spec = obj["spec"]
    spec.setdefault("attachRequired", True)
    for name in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        spec.setdefault(name, False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("volumeLifecycleModes", ["Persistent"])


def volume_attachment(obj: Json) -> None:
    """A volume described in place gets the constants of its source."""
    inline = obj["spec"]["source"].get("inlineVolumeSpec")
    if inline:
        round_up(inline.get("capacity"))
        volume_source(inline)
