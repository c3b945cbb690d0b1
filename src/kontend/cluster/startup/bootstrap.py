"""The objects that kube-apiserver creates when it starts.

Clients look for them: the Service ``default/kubernetes``, the default roles, the APIServices of the built-in groups,
the flow control configuration. ``tools/make_bootstrap.py`` makes the table of them. :func:`bootstrap` adds those that a
state lacks and leaves the others as they are, so it may run at every start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import orjson

from kontend.cluster.handle import handle
from kontend.cluster.registration.api_services import api_service, follow_definitions
from kontend.cluster.request import APPLY_PATCH, JSON, ApiRequest
from kontend.cluster.startup.seed import resource_of, seed
from kontend.cluster.state import State
from kontend.cluster.storage import encoded
from kontend.cluster.times import rfc3339
from kontend.kube.builtin.admission.pods import SYSTEM_CLASSES
from kontend.kube.builtin.service_allocation import API_SERVER_IP, CLUSTER_IPS
from kontend.kube.encoding.json_text import canonical
from kontend.kube.json_types import Object
from kontend.kube.meta.names import GroupVersionKind, Key, kind_of

#: An address for documentation: endpoints may not name the loopback address, where the server usually listens.
_ADDRESS: Final = "192.0.2.1"
_SERVER: Final = "kube-apiserver"
_RBAC: Final = "rbac.authorization.k8s.io"
_FLOW_CONTROL: Final = "flowcontrol.apiserver.k8s.io/v1"
_FLOW_PRODUCER: Final = "api-priority-and-fairness-config-producer-v1"
_FLOW_CONSUMER: Final = "api-priority-and-fairness-config-consumer-v1"
_CIDR_CONTROLLER: Final = "kubernetes-service-cidr-controller"
_COMPONENTS: Final = ("controller-manager", "etcd-0", "scheduler")
_HEALTHY: Final = {"type": "Healthy", "status": "True", "message": "ok"}
_BEST: Final = {
    "system-cluster-critical": "Used for system critical pods that must run in the cluster, but can be moved to "
    "another node if necessary.",
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
}


def bootstrap(state: State, *, address: str = _ADDRESS, port: int = 6443, client_ca: str = "") -> State:
    """Add the objects that a server of its own makes; ``client_ca`` is the authority of client certificates, PEM."""
    for obj in _objects(state, address, port, client_ca):
        if not _exists(state, obj):
            state = _created(state, obj)
    return follow_definitions(_with_components(state))


def _with_components(state: State) -> State:
    """Add the statuses of the components, which kube-apiserver makes up: they have neither uid nor owners of fields."""
    resource = resource_of(state.registry, GroupVersionKind("", "v1", "ComponentStatus"))
    for name in _COMPONENTS:
        if state.find(resource.key, Key("", name)) is None:
            status = {"metadata": {"name": name}, "conditions": [_HEALTHY]}
            state, _ = state.write(resource.key, Key("", name), encoded(resource, status), ())
    return state


def _created(state: State, obj: Object) -> State:
    if "status" in obj:
        return seed(state, obj, manager=_SERVER)
    manager = _FLOW_PRODUCER if obj["apiVersion"] == _FLOW_CONTROL else _SERVER
    state = _sent(state, "POST", obj, {"fieldManager": (manager,)})
    status = _status(obj, rfc3339(state.now))
    if status is None:
        return state
    query = {"fieldManager": (status[0],), "force": ("true",)}
    return _sent(state, "PATCH", {**obj, "status": status[1]}, query)


def _sent(state: State, method: str, obj: Object, query: Mapping[str, tuple[str, ...]]) -> State:
    """Return the state after a request of the server to itself: a create, or an apply of a status."""
    resource = resource_of(state.registry, kind_of(obj))
    metadata = obj["metadata"]
    path, content_type = resource.path(metadata.get("namespace", "")), JSON
    if method == "PATCH":
        path = resource.path(metadata.get("namespace", ""), metadata["name"], "status")
        obj = {**{name: obj[name] for name in ("apiVersion", "kind", "status")}, "metadata": {"name": metadata["name"]}}
        content_type = APPLY_PATCH
    after, response = handle(state, ApiRequest(method, path, query, canonical(obj), content_type=content_type))
    assert response.code < 300, response.body
    return after


def _exists(state: State, obj: Mapping[str, Any]) -> bool:
    resource = resource_of(state.registry, kind_of(obj))
    metadata = obj["metadata"]
    return state.find(resource.key, Key(metadata.get("namespace", ""), metadata["name"])) is not None


def _objects(state: State, address: str, port: int, client_ca: str) -> Iterator[Object]:
    table = _table()
    yield from _services(address, port)
    yield from _config_maps(rfc3339(state.now)[:10], client_ca)
    for name, value in table["clusterRoles"].items():
        yield _role("ClusterRole", name, value)
    for name, value in table["roles"].items():
        yield _role("Role", name, value)
    for kind, section in (("ClusterRoleBinding", "clusterRoleBindings"), ("RoleBinding", "roleBindings")):
        for name, (role, *subjects) in table[section].items():
            yield _binding(kind, name, role, subjects)
    yield from _api_services(state)
    for name, spec in table["flowControl"].items():
        kind, name = name.split(" ")
        annotations = {"apf.kubernetes.io/autoupdate-spec": "true"}
        metadata = {"name": name, "annotations": annotations}
        yield {"apiVersion": _FLOW_CONTROL, "kind": kind, "metadata": metadata, "spec": spec}
    for name, value in SYSTEM_CLASSES.items():
        priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        yield {**priority, **value, "description": _BEST[name]}


def _services(address: str, port: int) -> Iterator[Object]:
    cidr = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "kubernetes"}}
    yield {**cidr, "spec": {"cidrs": [str(CLUSTER_IPS)]}}
    metadata = {"name": "kubernetes", "namespace": "default"}
    labels = {"component": "apiserver", "provider": "kubernetes"}
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**metadata, "labels": labels},
        "spec": {
            "clusterIP": API_SERVER_IP,
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
        },
    }
    prefix = "ipaddress.kubernetes.io"
    allocated = {f"{prefix}/ip-family": "IPv4", f"{prefix}/managed-by": "ipallocator.k8s.io"}
    yield {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": API_SERVER_IP, "labels": allocated},
        "spec": {"parentRef": {"resource": "services", **metadata}},
    }
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    yield {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {**metadata, "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [{"addresses": [{"ip": address}], "ports": ports}],
    }
    yield {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**metadata, "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "addressType": "IPv6" if ":" in address else "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": ports,
    }


def _config_maps(today: str, client_ca: str) -> Iterator[Object]:
    data = {
        "extension-apiserver-authentication": {"client-ca-file": client_ca} if client_ca else {},
        "kube-apiserver-legacy-service-account-token-tracking": {"since": today},
    }
    for name, values in data.items():
        metadata = {"name": name, "namespace": "kube-system"}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **({"data": values} if values else {})}


def _role(kind: str, key: str, value: Any) -> Object:
    entry: Mapping[str, Any] = {"rules": value} if isinstance(value, list) else value
    role: Object = {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": _default_metadata(key)}
    role["metadata"]["labels"].update(dict.fromkeys(entry.get("labels") or (), "true"))
    role["rules"] = [_rule(rule) for rule in entry["rules"]] or None
    if "aggregates" in entry:
        selectors = [{"matchLabels": {label: "true"}} for label in entry["aggregates"]]
        role["aggregationRule"] = {"clusterRoleSelectors": selectors}
    return role


def _rule(text: str) -> Object:
    """Return a rule from its short form.

    >>> _rule("get,list core,apps pods")
    {'apiGroups': ['', 'apps'], 'resources': ['pods'], 'verbs': ['get', 'list']}
    >>> _rule("get /healthz")
    {'nonResourceURLs': ['/healthz'], 'verbs': ['get']}
    """
    verbs, *words = (word.split(",") for word in text.split(" "))
    if len(words) == 1:
        return {"nonResourceURLs": words[0], "verbs": verbs}
    names = {"resourceNames": words[2]} if len(words) > 2 else {}
    groups = ["" if group == "core" else group for group in words[0]]
    return {"apiGroups": groups, **names, "resources": words[1], "verbs": verbs}


def _binding(kind: str, key: str, role: str, subjects: list[str]) -> Object:
    role_kind, role_name = role.split(" ")
    reference = {"apiGroup": _RBAC, "kind": role_kind, "name": role_name}
    everyone = []
    for subject_kind, name in (subject.split(" ") for subject in subjects):
        if subject_kind == "ServiceAccount":
            namespace, name = name.split("/")
            everyone.append({"kind": subject_kind, "name": name, "namespace": namespace})
        else:
            everyone.append({"apiGroup": _RBAC, "kind": subject_kind, "name": name})
    metadata = _default_metadata(key)
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "roleRef": reference, "subjects": everyone}


def _default_metadata(key: str) -> Object:
    namespace, _, name = key.rpartition("/")
    return {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "annotations": {f"{_RBAC.replace('k8s.io', 'kubernetes.io')}/autoupdate": "true"},
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
    }


def _api_services(state: State) -> Iterator[Object]:
    priorities = _table()["apiServices"]
    served = {(resource.group, resource.version) for resource in state.registry.resources() if resource.custom is None}
    for group, version in sorted(served):
        name = f"{version}.{group}"
        if name in priorities:
            yield api_service(group, version, *priorities[name], label="onstart", now=rfc3339(state.now))


def _status(obj: Mapping[str, Any], now: str) -> tuple[str, Object] | None:
    """Return the status that a controller of kube-apiserver gives an object, and the controller's name."""
    if obj["kind"] == "ServiceCIDR":
        message = "Kubernetes default Service CIDR is ready"
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": now, "message": message}
        return _CIDR_CONTROLLER, {"conditions": [ready]}
    if obj["kind"] == "FlowSchema":
        level = obj["spec"]["priorityLevelConfiguration"]["name"]
        message = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}" and it exists'
        resolved = {"type": "Dangling", "status": "False", "reason": "Found", "message": message}
        return _FLOW_CONSUMER, {"conditions": [{**resolved, "lastTransitionTime": now}]}
    return None


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = orjson.loads(files("kontend.cluster").joinpath("data/bootstrap.json").read_bytes())
    return table
