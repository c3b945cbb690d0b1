"""The cells of the server's tables, for each built-in kind that has columns of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from kontend.kube.json_types import JsonView
from kontend.kube.printing.ages import age
from kontend.kube.printing.autoscaler_cells import autoscaler_cells
from kontend.kube.printing.pod_cells import pod_cells, pod_conditions
from kontend.kube.printing.shared_cells import (
    NONE,
    UNSET,
    age_of,
    first_few,
    labels_text,
    meta_of,
    name_of,
    selector_text,
    spec_of,
    status_of,
)
from kontend.kube.printing.system_cells import (
    api_service_cells,
    component_status_cells,
    csi_driver_cells,
    flow_schema_cells,
    ip_address_cells,
    pod_template_cells,
    policy_binding_cells,
    policy_cells,
    priority_level_cells,
    resource_claim_cells,
    resource_slice_cells,
    signing_request_cells,
    volume_attachment_cells,
)
from kontend.kube.printing.workload_cells import (
    cron_job_cells,
    daemon_set_cells,
    deployment_cells,
    job_cells,
    replica_set_cells,
    replication_controller_cells,
    stateful_set_cells,
)


class Cells(NamedTuple):
    """The function that makes the rows of a kind, and the API groups of the kind."""

    of: Callable[[JsonView, str], list[Any]]
    groups: tuple[str, ...] = ("",)


def row_conditions(kind: str, obj: JsonView) -> dict[str, Any]:
    """Return the conditions of a row: that a pod has finished."""
    return pod_conditions(obj) if kind == "Pod" else {}


def _simple(*values: Callable[[JsonView, str], Any]) -> Callable[[JsonView, str], list[Any]]:
    return lambda obj, now: [name_of(obj), *(value(obj, now) for value in values), age_of(obj, now)]


def _addresses(obj: JsonView) -> str:
    points = (status_of(obj).get("loadBalancer") or {}).get("ingress") or ()
    return ",".join(sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""}))


def _external_ip(obj: JsonView) -> str:
    spec = spec_of(obj)
    kind, given = spec.get("type"), spec.get("externalIPs") or []
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(given) or NONE
    if kind == "LoadBalancer":
        balancer = _addresses(obj)
        return ",".join([*([balancer] if balancer else []), *given]) or "<pending>"
    return str(spec.get("externalName", "")) if kind == "ExternalName" else "<unknown>"


def _port(port: JsonView) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node}/{port.get('protocol', '')}"


def _service(obj: JsonView, now: str) -> list[Any]:
    spec = spec_of(obj)
    address = (spec.get("clusterIPs") or [NONE])[0]
    ports = ",".join(map(_port, spec.get("ports") or ())) or NONE
    external = _external_ip(obj)
    return [
        name_of(obj),
        spec.get("type", ""),
        address,
        external,
        ports,
        age_of(obj, now),
        labels_text(spec.get("selector")),
    ]


def _ingress(obj: JsonView, now: str) -> list[Any]:
    spec = spec_of(obj)
    rules = spec.get("rules") or ()
    hosts = [rule["host"] for rule in rules if rule.get("host")]
    shown = ",".join(hosts[:3]) or "*"
    if len(hosts) >= 3 and len(rules) > 3:
        shown += f" + {len(rules) - 3} more..."
    ports = "80, 443" if spec.get("tls") else "80"
    return [name_of(obj), spec.get("ingressClassName") or NONE, shown, _addresses(obj), ports, age_of(obj, now)]


def _endpoints(obj: JsonView, now: str) -> list[Any]:
    endpoints: list[str] = []
    for subset in obj.get("subsets") or ():
        addresses = [address.get("ip", "") for address in subset.get("addresses") or ()]
        for port in subset.get("ports") or (None,):
            number = None if port is None else port.get("port", 0)
            endpoints += [address if number is None else f"{_host(address)}:{number}" for address in addresses]
    shown = first_few(endpoints, len(endpoints)) if obj.get("subsets") else NONE
    return [name_of(obj), shown, age_of(obj, now)]


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _endpoint_slice(obj: JsonView, now: str) -> list[Any]:
    numbers = [str(port.get("port") or port.get("name") or "*") for port in obj.get("ports") or ()]
    addresses = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    ports = first_few(numbers, len(numbers), empty=UNSET)
    return [
        name_of(obj),
        obj.get("addressType", ""),
        ports,
        first_few(addresses, len(addresses), empty=UNSET),
        age_of(obj, now),
    ]


def _node(obj: JsonView, now: str) -> list[Any]:
    info = status_of(obj).get("nodeInfo") or {}
    ready = [condition for condition in status_of(obj).get("conditions") or () if condition.get("type") == "Ready"]
    status = "Unknown" if not ready else "Ready" if ready[-1].get("status") == "True" else "NotReady"
    if spec_of(obj).get("unschedulable"):
        status += ",SchedulingDisabled"
    prefix = "node-role.kubernetes.io/"
    labels = meta_of(obj).get("labels") or {}
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)} | {
        labels.get("kubernetes.io/role", "")
    }
    addresses = status_of(obj).get("addresses") or ()
    shown = [
        next((address.get("address", "") for address in addresses if address.get("type") == kind), NONE)
        for kind in ("InternalIP", "ExternalIP")
    ]
    system = [info.get(key) or "<unknown>" for key in ("osImage", "kernelVersion", "containerRuntimeVersion")]
    role = ",".join(sorted(roles - {""})) or NONE
    return [name_of(obj), status, role, age_of(obj, now), info.get("kubeletVersion", ""), *shown, *system]


def _event(obj: JsonView, now: str) -> list[Any]:
    # The two groups that events live in name the same fields differently.
    first = age(obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime"), now)
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    series = obj.get("series")
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    instance = source.get("host") or obj.get("reportingInstance") or ""
    target = about.get("kind", "").lower() + (f"/{about['name']}" if about.get("name") else "")
    return [
        age(series.get("lastObservedTime"), now) if series else age(last, now) if last else first,
        obj.get("type", ""),
        obj.get("reason", ""),
        target,
        about.get("fieldPath", ""),
        f"{component}, {instance}" if instance else component,
        (obj.get("message") or obj.get("note") or "").strip(),
        first,
        (series or {}).get("count") or obj.get("count") or obj.get("deprecatedCount") or 1,
        name_of(obj),
    ]


def _modes(modes: Iterable[str] | None) -> str:
    short = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
    return ",".join(short[mode] for mode in short if mode in set(modes or ()))


def _storage_class_of(obj: JsonView) -> str:
    beta = (meta_of(obj).get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    return str(spec_of(obj).get("storageClassName") or "" if beta is None else beta)


def _volume_phase(obj: JsonView) -> str:
    return "Terminating" if meta_of(obj).get("deletionTimestamp") else status_of(obj).get("phase", "")


def _persistent_volume(obj: JsonView, now: str) -> list[Any]:
    spec = spec_of(obj)
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        (spec.get("capacity") or {}).get("storage", "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _volume_phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _storage_class_of(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        status_of(obj).get("reason", ""),
        age_of(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def _persistent_volume_claim(obj: JsonView, now: str) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    volume = spec.get("volumeName", "")
    capacity = (status.get("capacity") or {}).get("storage", "0") if volume else ""
    modes = _modes(status.get("accessModes")) if volume else ""
    classes = [_storage_class_of(obj), spec.get("volumeAttributesClassName") or UNSET]
    mode = spec.get("volumeMode") or UNSET
    return [name_of(obj), _volume_phase(obj), volume, capacity, modes, *classes, age_of(obj, now), mode]


def _binding(obj: JsonView, now: str) -> list[Any]:
    role = obj.get("roleRef") or {}
    subjects = obj.get("subjects") or ()
    people = [
        ", ".join(subject.get("name", "") for subject in subjects if subject.get("kind") == kind)
        for kind in ("User", "Group")
    ]
    accounts = (subject for subject in subjects if subject.get("kind") == "ServiceAccount")
    service = ", ".join(f"{account.get('namespace', '')}/{account.get('name', '')}" for account in accounts)
    return [name_of(obj), f"{role.get('kind', '')}/{role.get('name', '')}", age_of(obj, now), *people, service]


def _storage_class(obj: JsonView, now: str) -> list[Any]:
    annotations = meta_of(obj).get("annotations") or {}
    default = any(
        annotations.get(f"storageclass.{beta}kubernetes.io/is-default-class") == "true" for beta in ("", "beta.")
    )
    return [
        name_of(obj) + (" (default)" if default else ""),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        age_of(obj, now),
    ]


def _controller_revision(obj: JsonView, now: str) -> list[Any]:
    owners = meta_of(obj).get("ownerReferences") or ()
    owner = next((reference for reference in owners if reference.get("controller")), None)
    shown = NONE
    if owner is not None:
        group = owner.get("apiVersion", "").rpartition("/")[0]
        kind = owner.get("kind", "") + (f".{group}" if group else "")
        shown = f"{kind.lower()}/{owner.get('name', '')}"
    return [name_of(obj), shown, obj.get("revision", 0), age_of(obj, now)]


def _resource_quota(obj: JsonView, now: str) -> list[Any]:
    status = status_of(obj)
    hard, used = status.get("hard") or {}, status.get("used") or {}
    lines = [(name.startswith("limits."), f"{name}: {used.get(name, '0')}/{hard[name]}") for name in sorted(hard)]
    columns = [", ".join(text for limit, text in lines if limit is wanted) for wanted in (False, True)]
    return [name_of(obj), *columns, age_of(obj, now)]


def _priority_class(obj: JsonView, now: str) -> list[Any]:
    value, default = obj.get("value", 0), bool(obj.get("globalDefault"))
    return [name_of(obj), value, default, age_of(obj, now), obj.get("preemptionPolicy") or ""]


def _ingress_class(obj: JsonView, now: str) -> list[Any]:
    parameters = spec_of(obj).get("parameters")
    shown = NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        shown = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    return [name_of(obj), spec_of(obj).get("controller", ""), shown, age_of(obj, now)]


def _available(value: Any) -> str:
    return "N/A" if value is None else str(value)


_APPS: Final = ("apps",)
_BATCH: Final = ("batch",)
_NETWORKING: Final = ("networking.k8s.io",)
_RBAC: Final = ("rbac.authorization.k8s.io",)
_STORAGE: Final = ("storage.k8s.io",)
_WEBHOOKS: Final = Cells(_simple(lambda obj, _: len(obj.get("webhooks") or ())), ("admissionregistration.k8s.io",))

_ADMISSION: Final = ("admissionregistration.k8s.io",)
_DEVICES: Final = ("resource.k8s.io",)
_FLOW: Final = ("flowcontrol.apiserver.k8s.io",)

CELLS: Final[dict[str, Cells]] = {
    "APIService": Cells(api_service_cells, ("apiregistration.k8s.io",)),
    "CSIDriver": Cells(csi_driver_cells, _STORAGE),
    "CSINode": Cells(_simple(lambda obj, _: len(spec_of(obj).get("drivers") or ())), _STORAGE),
    "CertificateSigningRequest": Cells(signing_request_cells, ("certificates.k8s.io",)),
    "ComponentStatus": Cells(component_status_cells),
    "DeviceClass": Cells(_simple(), _DEVICES),
    "FlowSchema": Cells(flow_schema_cells, _FLOW),
    "HorizontalPodAutoscaler": Cells(autoscaler_cells, ("autoscaling",)),
    "IPAddress": Cells(ip_address_cells, _NETWORKING),
    "PodTemplate": Cells(pod_template_cells),
    "PriorityLevelConfiguration": Cells(priority_level_cells, _FLOW),
    "ResourceClaim": Cells(resource_claim_cells, _DEVICES),
    "ResourceClaimTemplate": Cells(_simple(), _DEVICES),
    "ResourceSlice": Cells(resource_slice_cells, _DEVICES),
    "RuntimeClass": Cells(_simple(lambda obj, _: obj.get("handler", "")), ("node.k8s.io",)),
    "ServiceCIDR": Cells(_simple(lambda obj, _: ",".join(spec_of(obj).get("cidrs") or ())), _NETWORKING),
    "ValidatingAdmissionPolicy": Cells(policy_cells, _ADMISSION),
    "ValidatingAdmissionPolicyBinding": Cells(policy_binding_cells, _ADMISSION),
    "VolumeAttachment": Cells(volume_attachment_cells, _STORAGE),
    "VolumeAttributesClass": Cells(_simple(lambda obj, _: obj.get("driverName", "")), _STORAGE),
    "ConfigMap": Cells(_simple(lambda obj, _: len(obj.get("data") or ()) + len(obj.get("binaryData") or ()))),
    "ClusterRoleBinding": Cells(_binding, _RBAC),
    "ControllerRevision": Cells(_controller_revision, _APPS),
    "CronJob": Cells(cron_job_cells, _BATCH),
    "DaemonSet": Cells(daemon_set_cells, _APPS),
    "Deployment": Cells(deployment_cells, _APPS),
    "EndpointSlice": Cells(_endpoint_slice, ("discovery.k8s.io",)),
    "Endpoints": Cells(_endpoints),
    "Event": Cells(_event, ("", "events.k8s.io")),
    "Ingress": Cells(_ingress, _NETWORKING),
    "IngressClass": Cells(_ingress_class, _NETWORKING),
    "Job": Cells(job_cells, _BATCH),
    "Lease": Cells(_simple(lambda obj, _: spec_of(obj).get("holderIdentity") or ""), ("coordination.k8s.io",)),
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "Namespace": Cells(_simple(lambda obj, _: status_of(obj).get("phase", ""))),
    "NetworkPolicy": Cells(_simple(lambda obj, _: selector_text(spec_of(obj).get("podSelector") or {})), _NETWORKING),
    "Node": Cells(_node),
    "PersistentVolume": Cells(_persistent_volume),
    "PersistentVolumeClaim": Cells(_persistent_volume_claim),
    "Pod": Cells(pod_cells),
    "PodDisruptionBudget": Cells(
        _simple(
            lambda obj, _: _available(spec_of(obj).get("minAvailable")),
            lambda obj, _: _available(spec_of(obj).get("maxUnavailable")),
            lambda obj, _: status_of(obj).get("disruptionsAllowed", 0),
        ),
        ("policy",),
    ),
    "PriorityClass": Cells(_priority_class, ("scheduling.k8s.io",)),
    "ReplicaSet": Cells(replica_set_cells, _APPS),
    "ReplicationController": Cells(replication_controller_cells),
    "ResourceQuota": Cells(_resource_quota),
    "RoleBinding": Cells(_binding, _RBAC),
    "Secret": Cells(_simple(lambda obj, _: obj.get("type", ""), lambda obj, _: len(obj.get("data") or ()))),
    "Service": Cells(_service),
    "ServiceAccount": Cells(_simple()),
    "StatefulSet": Cells(stateful_set_cells, _APPS),
    "StorageClass": Cells(_storage_class, _STORAGE),
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}
