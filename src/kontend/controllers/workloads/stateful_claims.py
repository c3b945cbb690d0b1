"""The volume claims of a StatefulSet's pods: their creation from templates, and their owners.

By default a claim outlives its pod and its StatefulSet. ``persistentVolumeClaimRetentionPolicy`` changes that by owner
references: a claim that should go with the set is controlled by it, one that should go when the set shrinks is
controlled by the pod that is on its way out.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from kontend.controllers.workloads.stateful_pods import claim_name, ordinal_of, ordinals
from kontend.kube.errors import Conflict, NotFound
from kontend.kube.meta.accessors import is_deleting, owner_references, uid_of
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.writes.owners import owner_reference

CLAIMS: Final = "PersistentVolumeClaim/v1"


class Claims:
    """The claims of one StatefulSet."""

    def __init__(self, api: Api, stateful_set: Object) -> None:
        self._api = api
        self._set = stateful_set
        policy = stateful_set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        self._goes_when_scaled = policy.get("whenScaled") == "Delete"
        self._goes_when_deleted = policy.get("whenDeleted") == "Delete"

    def _wanted(self, pod: Object) -> list[Object]:
        """Return the claims that a pod needs."""
        labels = self._set["spec"]["selector"].get("matchLabels") or {}
        wanted = []
        for template in self._set["spec"].get("volumeClaimTemplates") or ():
            claim = deepcopy(template)
            claim.update(apiVersion="v1", kind="PersistentVolumeClaim")
            claim.pop("status", None)
            metadata = claim["metadata"]
            metadata["name"] = claim_name(self._set, template, ordinal_of(pod))
            metadata["namespace"] = self._set["metadata"]["namespace"]
            metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
            wanted.append(claim)
        return wanted

    async def _find(self, name: str) -> Object | None:
        try:
            return await self._api.get(CLAIMS, Key(self._set["metadata"]["namespace"], name))
        except NotFound:
            return None

    async def create_missing(self, pod: Object) -> None:
        """Make the claims that a pod needs and does not have."""
        for claim in self._wanted(pod):
            name = claim["metadata"]["name"]
            existing = await self._find(name)
            if existing is None:
                await self._api.create(claim)
            elif is_deleting(existing):
                raise Conflict(f"pvc {name} is being deleted")

    async def are_stale(self, pod: Object) -> bool:
        """Report whether a claim still belongs to an earlier pod of the same name, and will go with it."""
        if not self._goes_when_scaled:
            return False
        for claim in self._wanted(pod):
            existing = await self._find(claim["metadata"]["name"])
            if existing is not None and _is_stale(existing, pod):
                return True
        return False

    async def follow_policy(self, pod: Object) -> None:
        """Give the claims of a pod the owners that the policy asks for."""
        for wanted in self._wanted(pod):
            claim = await self._find(wanted["metadata"]["name"])
            if claim is None or _is_stale(claim, self._set) or _is_stale(claim, pod):
                continue
            owners = self._owners(claim, pod)
            if owners != owner_references(claim):
                claim["metadata"]["ownerReferences"] = owners
                await self._api.update(claim)

    def _owners(self, claim: Object, pod: Object) -> list[dict[str, Any]]:
        """Return the owners that a claim should have."""
        own = (self._set, pod)
        others = [
            reference for reference in owner_references(claim) if not any(_names(reference, owner) for owner in own)
        ]
        applies = self._goes_when_scaled or self._goes_when_deleted
        if applies and any(other.get("controller") for other in others):
            return others  # another controller owns it
        outside = ordinal_of(pod) not in ordinals(self._set)
        owner = None
        if self._goes_when_scaled and outside:
            owner = pod
        elif self._goes_when_deleted:
            owner = self._set
        if owner is None:
            return others
        kept = [
            reference
            for reference in owner_references(claim)
            if reference.get("uid") == uid_of(owner) and reference.get("controller")
        ]
        return [*others, *(kept or [owner_reference(owner, controller=True)])]


def _names(reference: Mapping[str, Any], owner: Object) -> bool:
    return (reference.get("apiVersion"), reference.get("kind"), reference.get("name")) == (
        owner["apiVersion"],
        owner["kind"],
        owner["metadata"]["name"],
    )


def _is_stale(claim: Object, owner: Object) -> bool:
    """Report whether a claim is owned by a deleted object of the same name."""
    return any(
        _names(reference, owner) and reference.get("uid") != uid_of(owner) for reference in owner_references(claim)
    )
