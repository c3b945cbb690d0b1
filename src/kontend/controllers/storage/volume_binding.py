"""Binding of volumes: a claim gets the smallest volume that is good enough, and each names the other.

A binding is two writes that cannot be one. The volume is written first and names the claim by uid; after a crash before
the second write the next reconcile completes it. When the claim is gone, the volume is released and never reused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from kontend.controllers.built_in import BuiltIn
from kontend.kube.errors import NotFound
from kontend.kube.meta.accessors import is_deleting, uid_of
from kontend.kube.meta.names import Key, key_of
from kontend.kube.meta.selectors import selector_from_json
from kontend.kube.quantity import Quantity, parse
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper, Request, Result

CLAIMS: Final = "PersistentVolumeClaim/v1"
VOLUMES: Final = "PersistentVolume/v1"
CLASSES: Final = "StorageClass.storage.k8s.io/v1"
_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


def _waiting_claims(volume: Object, cache: Cache) -> Iterator[Key]:
    """Yield the claim of a volume, and those that may want it."""
    reference = (volume.get("spec") or {}).get("claimRef")
    if reference:
        yield Key(reference.get("namespace", ""), reference.get("name", ""))
        return
    for claim in cache.list(CLAIMS):
        if (claim.get("status") or {}).get("phase") != "Bound":
            yield key_of(claim)


def _volumes_of(claim: Object, cache: Cache) -> Iterator[Key]:
    """Yield the volumes that name a claim."""
    key = key_of(claim)
    for volume in cache.list(VOLUMES):
        reference = (volume.get("spec") or {}).get("claimRef") or {}
        if (reference.get("namespace"), reference.get("name")) == tuple(key):
            yield key_of(volume)


class VolumeClaims(BuiltIn):
    """Binds claims to volumes."""

    name = "persistentvolumeclaim-binder"
    kind = CLAIMS
    watches: ClassVar[Mapping[str, Mapper]] = {VOLUMES: _waiting_claims}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Find a volume for a claim, or updates the claim from its volume."""
        try:
            claim = await api.get(CLAIMS, request)
        except NotFound:
            return None
        name = claim["spec"].get("volumeName") or ""
        if _COMPLETED in (claim["metadata"].get("annotations") or {}):
            await self._check_bound(api, claim, name)
            return None
        volume = await self._find(api, claim, name)
        if volume is None:
            await _set_claim(api, claim, "Pending", None)
        else:
            await _bind(api, volume, claim)
        return None

    async def _check_bound(self, api: Api, claim: Object, name: str) -> None:
        try:
            volume = await api.get(VOLUMES, Key("", name)) if name else None
        except NotFound:
            volume = None
        if volume is not None and (is_bound_to(volume, claim) or not volume["spec"].get("claimRef")):
            await _bind(api, volume, claim)
        elif (claim.get("status") or {}).get("phase") != "Lost":
            await _set_claim(api, claim, "Lost", None)

    async def _find(self, api: Api, claim: Object, name: str) -> Object | None:
        if name:
            try:
                volume = await api.get(VOLUMES, Key("", name))
            except NotFound:
                return None
            free = not volume["spec"].get("claimRef") and _satisfies(volume, claim)
            return volume if free or is_bound_to(volume, claim) else None
        waits = await self._waits_for_pod(api, claim)
        good = [volume for volume in await api.list(VOLUMES) if _is_good(volume, claim, waits=waits)]
        chosen = [volume for volume in good if is_bound_to(volume, claim)]
        return min(chosen or good, key=lambda volume: (_capacity(volume), volume["metadata"]["name"]), default=None)

    async def _waits_for_pod(self, api: Api, claim: Object) -> bool:
        """Report whether the class delays binding until the first pod has a node."""
        name = class_of(claim)
        if not name:
            return False
        try:
            storage_class = await api.get(CLASSES, Key("", name))
        except NotFound:
            return False
        return storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"


class Volumes(BuiltIn):
    """Keeps the phase of volumes."""

    name = "persistentvolume-binder"
    kind = VOLUMES
    watches: ClassVar[Mapping[str, Mapper]] = {CLAIMS: _volumes_of}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Set the phase of a volume: available, bound, released or failed."""
        try:
            volume = await api.get(VOLUMES, request)
        except NotFound:
            return None
        reference = volume["spec"].get("claimRef") or {}
        if not reference.get("uid"):
            await _set_phase(api, volume, "Available")
            return None
        claim = await self._claim(api, reference)
        if claim is None:
            if (volume.get("status") or {}).get("phase") not in ("Released", "Failed"):
                await _set_phase(api, volume, "Released")
        elif claim["spec"].get("volumeName") == volume["metadata"]["name"]:
            await _set_phase(api, volume, "Bound")
        elif claim["spec"].get("volumeName"):
            await self._unbind(api, volume)
        return None

    async def _claim(self, api: Api, reference: Mapping[str, Any]) -> Object | None:
        key = Key(reference.get("namespace", ""), reference.get("name", ""))
        try:
            claim = await api.get(CLAIMS, key)
            if uid_of(claim) != reference["uid"]:
                claim = await api.live.get(CLAIMS, key)
        except NotFound:
            return None
        return claim if uid_of(claim) == reference["uid"] else None

    async def _unbind(self, api: Api, volume: Object) -> None:
        """Frees a volume whose claim took another one."""
        annotations = volume["metadata"].get("annotations") or {}
        if annotations.pop(_BY_CONTROLLER, None) is not None:
            del volume["spec"]["claimRef"]
        else:
            volume["spec"]["claimRef"]["uid"] = ""
        await api.update(volume)
        await _set_phase(api, volume, "Available")


def class_of(obj: Mapping[str, Any]) -> str:
    """Return the storage class of a claim or a volume."""
    annotations = obj["metadata"].get("annotations") or {}
    return str(annotations.get(_OLD_CLASS) or obj["spec"].get("storageClassName") or "")


def is_bound_to(volume: Mapping[str, Any], claim: Mapping[str, Any]) -> bool:
    """Report whether a volume names a claim; a user may name it without a uid, to keep the volume for it."""
    reference = volume["spec"].get("claimRef") or {}
    metadata = claim["metadata"]
    named = (reference.get("name"), reference.get("namespace")) == (metadata["name"], metadata["namespace"])
    return named and reference.get("uid") in (None, "", uid_of(claim))


def _capacity(volume: Mapping[str, Any]) -> Quantity:
    return parse(str((volume["spec"].get("capacity") or {}).get("storage") or "0"))


def _satisfies(volume: Object, claim: Object) -> bool:
    """Report whether a volume is large enough, of the right class and mode, and may be used as asked."""
    wanted, spec = claim["spec"], volume["spec"]
    request = parse(str(((wanted.get("resources") or {}).get("requests") or {}).get("storage") or "0"))
    modes = set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
    same_mode = (wanted.get("volumeMode") or "Filesystem") == (spec.get("volumeMode") or "Filesystem")
    same_attributes = wanted.get("volumeAttributesClassName") == spec.get("volumeAttributesClassName")
    return (
        request <= _capacity(volume) and modes and same_mode and same_attributes and class_of(volume) == class_of(claim)
    )


def _is_good(volume: Object, claim: Object, *, waits: bool) -> bool:
    if is_deleting(volume) or not _satisfies(volume, claim):
        return False
    if volume["spec"].get("claimRef"):
        return is_bound_to(volume, claim)
    if waits or (volume.get("status") or {}).get("phase") != "Available":
        return False
    selector = claim["spec"].get("selector")
    return selector is None or selector_from_json(selector).matches(volume["metadata"].get("labels") or {})


async def _bind(api: Api, volume: Object, claim: Object) -> None:
    """Write both sides of a binding, as far as they are not written yet."""
    metadata = claim["metadata"]
    if (volume["spec"].get("claimRef") or {}).get("uid") != uid_of(claim):
        if not volume["spec"].get("claimRef"):
            volume["metadata"].setdefault("annotations", {})[_BY_CONTROLLER] = "yes"
        volume["spec"]["claimRef"] = {
            "kind": "PersistentVolumeClaim",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": uid_of(claim),
            "apiVersion": "v1",
            "resourceVersion": metadata["resourceVersion"],
        }
        await api.update(volume)
    await _set_phase(api, volume, "Bound")
    annotations = metadata.setdefault("annotations", {})
    if claim["spec"].get("volumeName") != volume["metadata"]["name"] or _COMPLETED not in annotations:
        if claim["spec"].get("volumeName") != volume["metadata"]["name"]:
            claim["spec"]["volumeName"] = volume["metadata"]["name"]
            annotations[_BY_CONTROLLER] = "yes"
        annotations[_COMPLETED] = "yes"
        await api.update(claim)
    await _set_claim(api, claim, "Bound", volume)


async def _set_phase(api: Api, volume: Object, phase: str) -> None:
    status = volume.setdefault("status", {})
    if status.get("phase") != phase:
        status["phase"] = phase
        status.pop("message", None)
        await api.status.update(volume)


async def _set_claim(api: Api, claim: Object, phase: str, volume: Object | None) -> None:
    status = claim.setdefault("status", {})
    wanted: dict[str, Any] = {"phase": phase}
    if volume is not None:
        wanted["accessModes"] = volume["spec"].get("accessModes")
        wanted["capacity"] = status["capacity"] if status.get("phase") == phase else volume["spec"].get("capacity")
    kept = {name: value for name, value in status.items() if name not in ("phase", "accessModes", "capacity")}
    new = {**kept, **{name: value for name, value in wanted.items() if value is not None}}
    if new != status:
        claim["status"] = new
        await api.status.update(claim)
