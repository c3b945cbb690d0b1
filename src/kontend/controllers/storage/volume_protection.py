"""Protection of volumes in use: a claim that is deleted waits for its pods, a volume for its claim.

The server puts a finalizer on each claim and volume when it is made; these controllers take it off once it may go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from kontend.controllers.built_in import BuiltIn
from kontend.controllers.storage.volume_binding import CLAIMS, VOLUMES
from kontend.controllers.workloads.pods import PODS, is_finished
from kontend.kube.errors import NotFound
from kontend.kube.meta.accessors import finalizers_of, is_deleting
from kontend.kube.meta.names import Key
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper, Request, Result

CLAIM_FINALIZER: Final = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER: Final = "kubernetes.io/pv-protection"


def claims_of(pod: Object) -> Iterator[str]:
    """Yield the names of the claims that a pod uses."""
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"]["claimName"]
        elif volume.get("ephemeral"):
            yield f"{pod['metadata']['name']}-{volume['name']}"


def claims_of_pod(pod: Object, _cache: Cache) -> Iterator[Key]:
    """Yield the keys of the claims that a pod uses: a mapping function."""
    for name in claims_of(pod):
        yield Key(pod["metadata"]["namespace"], name)


class ClaimProtection(BuiltIn):
    """Releases deleted claims that no pod uses."""

    name = "persistentvolumeclaim-protection"
    kind = CLAIMS
    watches: ClassVar[Mapping[str, Mapper]] = {PODS: claims_of_pod}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Take the finalizer off a claim that is deleted and not in use, or puts it on where it is missing."""
        try:
            claim = await api.get(CLAIMS, request)
        except NotFound:
            return None
        finalizers = finalizers_of(claim)
        if is_deleting(claim):
            if CLAIM_FINALIZER in finalizers and not await self._is_used(api, request):
                await _set_finalizers(
                    api, claim, [finalizer for finalizer in finalizers if finalizer != CLAIM_FINALIZER]
                )
        elif CLAIM_FINALIZER not in finalizers:
            await _set_finalizers(api, claim, [*finalizers, CLAIM_FINALIZER])
        return None

    async def _is_used(self, api: Api, request: Request) -> bool:
        """Report whether a pod on a node uses the claim; reads the server, as a cache may lack the newest pod."""
        for pod in await api.live.list(PODS, namespace=request.namespace):
            on_node = bool((pod.get("spec") or {}).get("nodeName"))
            if request.name in claims_of(pod) and on_node and not is_finished(pod):
                return True
        return False


class VolumeProtection(BuiltIn):
    """Releases deleted volumes that are not bound."""

    name = "persistentvolume-protection"
    kind = VOLUMES

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Take the finalizer off a volume that is deleted and not bound, or puts it on where it is missing."""
        try:
            volume = await api.get(VOLUMES, request)
        except NotFound:
            return None
        finalizers = finalizers_of(volume)
        if is_deleting(volume):
            bound = (volume.get("status") or {}).get("phase") == "Bound"
            if VOLUME_FINALIZER in finalizers and not bound:
                await _set_finalizers(
                    api, volume, [finalizer for finalizer in finalizers if finalizer != VOLUME_FINALIZER]
                )
        elif VOLUME_FINALIZER not in finalizers:
            await _set_finalizers(api, volume, [*finalizers, VOLUME_FINALIZER])
        return None


async def _set_finalizers(api: Api, obj: Object, finalizers: list[str]) -> None:
    obj["metadata"]["finalizers"] = finalizers
    try:
        await api.update(obj)
    except NotFound:
        return
