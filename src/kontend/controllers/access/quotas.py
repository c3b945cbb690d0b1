"""The quota controller: counts what a namespace uses and writes it into the status of its quotas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from kontend.controllers.built_in import BuiltIn, builtin_kinds
from kontend.kube.builtin.admission.pod_resources import Amounts, plus
from kontend.kube.builtin.admission.quota import ZERO, in_scope, usage
from kontend.kube.errors import NotFound
from kontend.kube.meta.names import Key, parse_kind
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper, Request, Result

QUOTAS: Final = "ResourceQuota/v1"
#: Kinds whose objects quotas may count, and whose coming and going they follow at once.
_COUNTED: Final = (
    "ConfigMap/v1", "CronJob.batch/v1", "DaemonSet.apps/v1", "Deployment.apps/v1", "Ingress.networking.k8s.io/v1",
    "Job.batch/v1", "PersistentVolumeClaim/v1", "Pod/v1", "ReplicaSet.apps/v1", "ReplicationController/v1", "Secret/v1",
    "Service/v1", "StatefulSet.apps/v1",
)  # fmt: skip


def _quotas_of_namespace(obj: Object, cache: Cache) -> Iterator[Key]:
    namespace = obj["metadata"]["namespace"]
    for quota in cache.list(QUOTAS, namespace=namespace):
        yield Key(namespace, quota["metadata"]["name"])


class Quotas(BuiltIn):
    """Keeps the status of resource quotas."""

    name = "resourcequota"
    kind = QUOTAS
    watches: ClassVar[Mapping[str, Mapper]] = dict.fromkeys(_COUNTED, _quotas_of_namespace)

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Count all objects that a quota limits."""
        try:
            quota = await api.live.get(QUOTAS, request)
        except NotFound:
            return None
        hard: Mapping[str, str] = (quota.get("spec") or {}).get("hard") or {}
        used = await self._used(api, quota, request.namespace)
        status = {"hard": dict(hard), "used": {name: str(used.get(name, ZERO)) for name in sorted(hard)}}
        if status != (quota.get("status") or {}):
            quota["status"] = status
            await api.status.update(quota)
        return None

    async def _used(self, api: Api, quota: Object, namespace: str) -> Amounts:
        total: Amounts = {}
        plurals = builtin_kinds()
        for kind in (*_COUNTED, QUOTAS):
            parsed, plural = parse_kind(kind), plurals[kind]
            if not _is_limited(quota, parsed.group, plural):
                continue
            for obj in await api.live.list(kind, namespace=namespace):
                if in_scope(quota, plural, obj):
                    total = plus(total, usage(parsed.group, plural, obj))
        return total


def _is_limited(quota: Mapping[str, Any], group: str, plural: str) -> bool:
    hard = (quota.get("spec") or {}).get("hard") or {}
    counted = f"count/{plural}.{group}" if group else f"count/{plural}"
    if group:
        return counted in hard
    if plural in ("pods", "services", "persistentvolumeclaims"):
        return True
    return counted in hard or plural in hard
