"""Objects of every namespace: the service account ``default`` and the certificate authority of the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from kontend.controllers.built_in import BuiltIn
from kontend.kube.errors import AlreadyExists, NotFound
from kontend.kube.meta.names import Key
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper, Request, Result

NAMESPACES: Final = "Namespace/v1"
_ACCOUNTS: Final = "ServiceAccount/v1"
_CONFIG_MAPS: Final = "ConfigMap/v1"
_BUNDLE: Final = "kube-root-ca.crt"
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


def _named(name: str) -> Mapper:
    def namespace_of(obj: Object, _cache: Cache) -> Iterator[Key]:
        if obj["metadata"]["name"] == name:
            yield Key("", obj["metadata"]["namespace"])

    return namespace_of


async def _is_active(api: Api, name: str) -> bool:
    try:
        namespace = await api.get(NAMESPACES, Key("", name))
    except NotFound:
        return False
    return bool((namespace.get("status") or {}).get("phase") != "Terminating")


class ServiceAccounts(BuiltIn):
    """Gives each namespace its default service account."""

    name = "serviceaccount"
    kind = NAMESPACES
    watches: ClassVar[Mapping[str, Mapper]] = {_ACCOUNTS: _named("default")}

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Create the account of an active namespace that has none."""
        if not await _is_active(api, request.name):
            return None
        try:
            await api.get(_ACCOUNTS, Key(request.name, "default"))
        except NotFound:
            metadata = {"name": "default", "namespace": request.name}
            await _create(api, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        return None


class RootCertificates(BuiltIn):
    """Publishes the authority of the server's certificate in each namespace."""

    name = "root-ca-certificate-publisher"
    kind = NAMESPACES
    watches: ClassVar[Mapping[str, Mapper]] = {_CONFIG_MAPS: _named(_BUNDLE)}

    def __init__(self, authority: str) -> None:
        #: PEM.
        self.authority = authority

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Create the ConfigMap, or put right what somebody changed in it."""
        if not await _is_active(api, request.name):
            return None
        data = {"ca.crt": self.authority}
        try:
            bundle = await api.get(_CONFIG_MAPS, Key(request.name, _BUNDLE))
        except NotFound:
            metadata = {"name": _BUNDLE, "namespace": request.name}
            annotations = {"kubernetes.io/description": _DESCRIPTION}
            described = {**metadata, "annotations": annotations}
            await _create(api, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": described, "data": data})
            return None
        if bundle.get("data") != data:
            bundle["data"] = data
            await api.update(bundle)
        return None


async def _create(api: Api, obj: dict[str, Any]) -> None:
    try:
        await api.create(obj)
    except AlreadyExists:
        return
