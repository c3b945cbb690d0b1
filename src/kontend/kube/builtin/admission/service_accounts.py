"""The service account of a pod: its name, its image pull secrets, and its token, mounted in every container."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.json_types import Json

_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_PREFIX: Final = "kube-api-access-"
#: A little more than an hour: the kubelet renews a token before it is an hour old.
_LIFETIME: Final = 3607


def attach_account(pod: Json, account: Mapping[str, Any], *, suffix: str) -> None:
    """Give a new pod what its service account has, in place; ``suffix`` ends the name of the volume of its token."""
    spec = pod["spec"]
    name = account["metadata"]["name"]
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(reference) for reference in account["imagePullSecrets"]]
    wanted = spec.get("automountServiceAccountToken")
    if wanted is None:
        wanted = account.get("automountServiceAccountToken")
    if wanted is not False:
        _mount_token(spec, _PREFIX + suffix)


def _mount_token(spec: Json, volume: str) -> None:
    # Admission may run twice: the second time only containers that a webhook has added need the mount.
    names = [volume["name"] for volume in spec.get("volumes") or () if volume["name"].startswith(_PREFIX)]
    volume = names[0] if names else volume
    mounted = False
    for field in ("initContainers", "containers"):
        for container in spec.get(field) or ():
            mounts = container.get("volumeMounts") or []
            if any(mount.get("mountPath") == _MOUNT_PATH for mount in mounts):
                continue
            container["volumeMounts"] = [*mounts, {"name": volume, "readOnly": True, "mountPath": _MOUNT_PATH}]
            mounted = True
    if not mounted or names:
        return
    token = {"serviceAccountToken": {"expirationSeconds": _LIFETIME, "path": "token"}}
    authority = {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
    field_ref = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    namespace = {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field_ref}]}}
    projected = {"sources": [token, authority, namespace], "defaultMode": 420}
    spec["volumes"] = [*(spec.get("volumes") or ()), {"name": volume, "projected": projected}]
