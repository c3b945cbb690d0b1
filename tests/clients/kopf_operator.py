"""An ordinary kopf operator: each Garden has a ConfigMap, its status, and a finalizer while it has work to do."""

from __future__ import annotations

from typing import Any

import kopf
from kubernetes import client, config


@kopf.on.startup()
def configure(**_: Any) -> None:
    """Find the server."""
    config.load_kube_config()


@kopf.on.create("clients.kontend.dev", "v1", "gardens")
def create(spec: kopf.Spec, body: kopf.Body, name: str, namespace: str, **_: Any) -> dict[str, Any]:
    """Make the child."""
    kopf.info(body, reason="Planting", message=f"plants {spec['plant']}")
    child = {"metadata": {"name": f"{name}-plan"}, "data": {"plant": spec["plant"]}}
    kopf.adopt(child)
    made = client.CoreV1Api().create_namespaced_config_map(namespace, child)
    return {"child": made.metadata.name}


@kopf.on.update("clients.kontend.dev", "v1", "gardens", field="spec.plant")
def replant(new: Any, name: str, namespace: str, patch: kopf.Patch, **_: Any) -> None:
    """Keep the child up to date."""
    client.CoreV1Api().patch_namespaced_config_map(f"{name}-plan", namespace, {"data": {"plant": new}})
    patch.status["phase"] = f"Replanted with {new}"


@kopf.on.update("clients.kontend.dev", "v1", "gardens", field="spec.replicas", retries=3, backoff=0.1)
def flaky(retry: int, patch: kopf.Patch, **_: Any) -> None:
    """Succeed at the second attempt."""
    if retry == 0:
        raise kopf.TemporaryError("not yet", delay=0.1)
    patch.status["replicas"] = retry


@kopf.on.delete("clients.kontend.dev", "v1", "gardens")
def clean_up(name: str, namespace: str, **_: Any) -> None:
    """Take the child away, which nobody else does here."""
    client.CoreV1Api().delete_namespaced_config_map(f"{name}-plan", namespace)
