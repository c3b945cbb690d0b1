"""Defaults of volumes, in pods and in persistent volumes."""

from __future__ import annotations

from typing import Final

from kontend.kube.builtin.defaults.images import pull_policy
from kontend.kube.builtin.defaults.quantities import round_up_requirements
from kontend.kube.json_types import Json

_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600

#: Sources whose defaults are constants.
_CONSTANTS: Final[dict[str, Json]] = {
    "hostPath": {"type": ""},
    "secret": {"defaultMode": _MODE},
    "configMap": {"defaultMode": _MODE},
    "downwardAPI": {"defaultMode": _MODE},
    "projected": {"defaultMode": _MODE},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def volume(given: Json) -> None:
    """One volume of a pod: without a source it is an empty directory."""
    if len(given) == 1:
        given["emptyDir"] = {}
        return
    volume_source(given)
    if "image" in given:
        given["image"].setdefault("pullPolicy", pull_policy(given["image"].get("reference", "")))
    if downward := given.get("downwardAPI"):
        _field_references(downward)
    if projected := given.get("projected"):
        for source in projected.get("sources") or ():
            if downward := source.get("downwardAPI"):
                _field_references(downward)
            if "serviceAccountToken" in source:
                source["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
    if template := given.get("ephemeral", {}).get("volumeClaimTemplate"):
        claim_spec(template["spec"])


def volume_source(source: Json) -> None:
    """The constants of whatever source is given, in a pod's volume or in a persistent volume."""
    for name, constants in _CONSTANTS.items():
        if name in source:
            given = source[name]
            for key, value in constants.items():
                given.setdefault(key, value)


def claim_spec(spec: Json) -> None:
    """The spec of a claim, wherever it stands."""
    spec.setdefault("volumeMode", "Filesystem")
    round_up_requirements(spec.get("resources"))


def _field_references(downward: Json) -> None:
    for item in downward.get("items") or ():
        if "fieldRef" in item:
            item["fieldRef"].setdefault("apiVersion", "v1")
