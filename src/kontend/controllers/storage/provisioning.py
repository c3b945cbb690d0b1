"""Provisioning of volumes: a storage driver that makes a volume for each claim of a class, and lets it grow.

The driver of a cluster is not part of Kubernetes, but nearly every cluster has one: without it a claim waits for ever,
and the server refuses to enlarge a claim that is not bound. It makes a volume of the size that is asked for, which
names the claim; the binder does the rest. A volume that is released goes if its class says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from kontend.controllers.built_in import BuiltIn
from kontend.controllers.storage.volume_binding import CLAIMS, CLASSES, VOLUMES, class_of
from kontend.controllers.storage.volume_protection import claims_of, claims_of_pod
from kontend.controllers.workloads.pods import PODS
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.kube.meta.accessors import is_deleting, uid_of
from kontend.kube.meta.names import Key, key_of
from kontend.kube.quantity import parse
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper, Request, Result

_NONE: Final = "kubernetes.io/no-provisioner"
_MADE_BY: Final = "pv.kubernetes.io/provisioned-by"
#: The driver of all volumes, whatever the class names: not every name of a provisioner is that of a driver.
_DRIVER: Final = "volumes.kontend.dev"
_MANAGER: Final = "csi-provisioner"


def default_class() -> Object:
    """Return the class of a cluster that has one: claims that name none are of this one."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": _DRIVER,
        "allowVolumeExpansion": True,
    }


def _claims_of_class(storage_class: Object, cache: Cache) -> Iterator[Key]:
    for claim in cache.list(CLAIMS):
        if class_of(claim) == storage_class["metadata"]["name"]:
            yield key_of(claim)


class VolumeProvisioner(BuiltIn):
    """Makes a volume for each claim of a class with a driver, and enlarges it."""

    name = "volume-provisioner"
    manager = _MANAGER
    kind = CLAIMS
    watches: ClassVar[Mapping[str, Mapper]] = {CLASSES: _claims_of_class, PODS: claims_of_pod}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Make the volume of a claim, or let it grow."""
        try:
            claim = await api.get(CLAIMS, request)
            storage_class = await api.get(CLASSES, Key("", class_of(claim)))
        except NotFound:
            return None
        if is_deleting(claim) or storage_class.get("provisioner") in (None, "", _NONE):
            return None
        if claim["spec"].get("volumeName"):
            await self._grow(api, claim)
        elif storage_class.get("volumeBindingMode") != "WaitForFirstConsumer" or await self._is_used(api, claim):
            await self._make(api, claim, storage_class)
        return None

    async def _is_used(self, api: Api, claim: Object) -> bool:
        name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
        return any(name in claims_of(pod) for pod in await api.list(PODS, namespace=namespace))

    async def _make(self, api: Api, claim: Object, storage_class: Object) -> None:
        metadata, spec, driver = claim["metadata"], claim["spec"], storage_class["provisioner"]
        name = f"pvc-{uid_of(claim)}"
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {_MADE_BY: driver}},
            "spec": {
                "capacity": {"storage": spec["resources"]["requests"]["storage"]},
                "accessModes": spec.get("accessModes"),
                "volumeMode": spec.get("volumeMode") or "Filesystem",
                "storageClassName": class_of(claim),
                "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
                "csi": {"driver": _DRIVER, "volumeHandle": name},
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": metadata["namespace"],
                    "name": metadata["name"],
                    "uid": uid_of(claim),
                },
            },
        }
        try:
            await api.create(volume)
        except AlreadyExists:
            return

    async def _grow(self, api: Api, claim: Object) -> None:
        """Enlarge the volume first; the claim shows the new size when it is there."""
        status = claim.get("status") or {}
        wanted, has = _storage(claim["spec"].get("resources", {}).get("requests")), _storage(status.get("capacity"))
        if status.get("phase") != "Bound" or parse(wanted) <= parse(has):
            return
        try:
            volume = await api.get(VOLUMES, Key("", claim["spec"]["volumeName"]))
        except NotFound:
            return
        if _MADE_BY not in (volume["metadata"].get("annotations") or {}):
            return
        if parse(_storage(volume["spec"].get("capacity"))) < parse(wanted):
            volume["spec"]["capacity"] = {"storage": wanted}
            await api.update(volume)
        claim["status"] = {**status, "capacity": {"storage": wanted}}
        await api.status.update(claim)


def _storage(amounts: Mapping[str, Any] | None) -> str:
    return str((amounts or {}).get("storage") or "0")


class VolumeReclaim(BuiltIn):
    """Deletes volumes that a driver has made and whose claim is gone, if that is their policy."""

    name = "volume-reclaim"
    manager = _MANAGER
    kind = VOLUMES

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Delete a volume that is released."""
        try:
            volume = await api.get(VOLUMES, request)
        except NotFound:
            return None
        made = _MADE_BY in (volume["metadata"].get("annotations") or {})
        released = (volume.get("status") or {}).get("phase") == "Released"
        policy = volume["spec"].get("persistentVolumeReclaimPolicy")
        if made and released and policy == "Delete" and not is_deleting(volume):
            await api.delete(volume)
        return None
