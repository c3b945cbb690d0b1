"""Objects that the operators make for a node and for a group of nodes, as pure functions of their specs."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

Object = dict[str, Any]

NODE: Final = "SeiNode.sei.io/v1alpha1"
GROUP: Final = "SeiNodeDeployment.sei.io/v1alpha1"
STATEFUL_SET: Final = "StatefulSet.apps/v1"
SERVICE: Final = "Service/v1"
CLAIM: Final = "PersistentVolumeClaim/v1"
POD: Final = "Pod/v1"
FINALIZER: Final = "sei.io/cleanup"
GROUP_LABEL: Final = "sei.io/group"
REVISION_LABEL: Final = "sei.io/revision"

_NODE_LABEL: Final = "sei.io/node"
_SIDECAR: Final = "sei-sidecar:1"
_PORTS: Final = [{"name": "rpc", "port": 26657}, {"name": "p2p", "port": 26656}]


def stateful_set(node: Object) -> Object:
    """Return the StatefulSet of a node: one pod, which is replaced only when it is deleted."""
    name, spec = node["metadata"]["name"], node["spec"]
    labels = {_NODE_LABEL: name}
    pod = {
        "containers": [
            {"name": "seid", "image": spec["image"], "volumeMounts": [{"name": "data", "mountPath": "/sei"}]},
            {"name": "sidecar", "image": sidecar_image(node)},
        ],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim_name(node)}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 1,
            "serviceName": name,
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": {**(spec.get("podLabels") or {}), **labels}}, "spec": pod},
        },
    }


def node_service(node: Object) -> Object:
    """Return the headless Service of a node."""
    name = node["metadata"]["name"]
    spec = {"clusterIP": "None", "selector": {_NODE_LABEL: name}, "ports": _PORTS}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def claim(node: Object) -> Object:
    """Return the claim for the data of a node."""
    metadata = {"name": claim_name(node), "namespace": node["metadata"]["namespace"]}
    resources = {"requests": {"storage": "100Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def claim_name(node: Object) -> str:
    """Return the name of the claim: that of an imported volume, or one of the node's own."""
    return imported_claim(node) or f"data-{node['metadata']['name']}"


def imported_claim(node: Object) -> str:
    """Return the name of the claim that the user brought along, or an empty string."""
    imported = (node["spec"].get("dataVolume") or {}).get("import") or {}
    return str(imported.get("pvcName") or "")


def sidecar_image(node: Object) -> str:
    """Return the image of the sidecar."""
    return str((node["spec"].get("sidecar") or {}).get("image") or _SIDECAR)


def template_hash(group: Object) -> str:
    """Return the hash of the parts of a template whose change is rolled out."""
    spec = group["spec"]["template"]["spec"]
    parts = [spec["chainId"], spec["image"], spec.get("sidecar")]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def group_node(group: Object, name: str, revision: str) -> Object:
    """Return a node of a group as its template says."""
    labels = {GROUP_LABEL: group["metadata"]["name"], REVISION_LABEL: revision}
    template = group["spec"]["template"]["spec"]
    paused = bool(group["spec"].get("paused"))
    spec = {**template, "paused": paused, "podLabels": {**(template.get("podLabels") or {}), **labels}}
    return {
        "apiVersion": "sei.io/v1alpha1",
        "kind": "SeiNode",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }


def group_service(group: Object, revision: str) -> Object:
    """Return the Service of a group: its traffic goes to the nodes of one revision."""
    name = group["metadata"]["name"]
    selector = {GROUP_LABEL: name, REVISION_LABEL: revision}
    spec = {"selector": selector, "ports": _PORTS}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
