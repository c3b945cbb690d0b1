"""Defaults of claims on devices."""

from __future__ import annotations

from kontend.kube.json_types import Json


def resource_claim(obj: Json) -> None:
    """A claim wants exactly one device of each kind it asks for."""
    _claim_spec(obj["spec"])
    allocation = obj["status"].get("allocation") or {}
    for result in allocation.get("devices", {}).get("results") or ():
        _tolerations(result)


def resource_claim_template(obj: Json) -> None:
    """The same, in a template."""
    _claim_spec(obj["spec"]["spec"])


def _claim_spec(spec: Json) -> None:
    for request in spec["devices"].get("requests") or ():
        exactly = request.get("exactly")
        for device in (*([exactly] if exactly else ()), *(request.get("firstAvailable") or ())):
            if device.setdefault("allocationMode", "ExactCount") == "ExactCount":
                device.setdefault("count", 1)
            _tolerations(device)


def _tolerations(holder: Json) -> None:
    for toleration in holder.get("tolerations") or ():
        toleration.setdefault("operator", "Equal")
