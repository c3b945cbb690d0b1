"""What stands in the columns of the server's tables, for each built-in kind that has columns of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from kontend.kube.ages import age, human_duration
from kontend.kube.errors import BadRequest
from kontend.kube.pod_cells import pod_cells, pod_conditions
from kontend.kube.selectors import selector_from_json

Json = Mapping[str, Any]
NONE: Final = "<none>"
UNSET: Final = "<unset>"


class Cells(NamedTuple):
    """How the rows of a kind are made, and in which API groups the kind lives."""

    of: Callable[[Json, str], list[Any]]
    groups: tuple[str, ...] = ("",)


def row_conditions(kind: str, obj: Json) -> dict[str, Any]:
    """What a row says about its object besides its cells: that a pod has finished."""
    return pod_conditions(obj) if kind == "Pod" else {}


def _meta(obj: Json) -> Json:
    return obj.get("metadata") or {}


def _name(obj: Json) -> str:
    return str(_meta(obj).get("name", ""))


def _age(obj: Json, now: str) -> str:
    return age(_meta(obj).get("creationTimestamp"), now)


def _spec(obj: Json) -> Json:
    return obj.get("spec") or {}


def _status(obj: Json) -> Json:
    return obj.get("status") or {}


def _containers(template: Json | None) -> list[str]:
    containers = _spec(template or {}).get("containers") or []
    return [",".join(each.get(key, "") for each in containers) for key in ("name", "image")]


def _selector(selector: Json | None, *, empty: str = NONE, bad: str = "<error>") -> str:
    try:
        return str(selector_from_json(selector)) or empty
    except BadRequest:
        return bad


def _labels(labels: Json | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def _some(items: list[str], count: int, most: int = 3, empty: str = "") -> str:
    """The first few items, and how many more there are."""
    shown = ",".join(items[:most])
    return f"{shown} + {count - most} more..." if len(items) > most else shown or empty


def _simple(*values: Callable[[Json, str], Any]) -> Callable[[Json, str], list[Any]]:
    return lambda obj, now: [_name(obj), *(value(obj, now) for value in values), _age(obj, now)]


def _deployment(obj: Json, now: str) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    counts = [status.get("updatedReplicas", 0), status.get("availableReplicas", 0)]
    selector = _selector(spec.get("selector"), empty="", bad="<invalid>")
    return [_name(obj), ready, *counts, _age(obj, now), *_containers(spec.get("template")), selector]


def _replicas(obj: Json, now: str) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    counts = [spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
    selector = spec.get("selector")
    shown = _labels(selector) if obj.get("kind") == "ReplicationController" else _selector(selector)
    return [_name(obj), *counts, _age(obj, now), *_containers(spec.get("template")), shown]


def _stateful_set(obj: Json, now: str) -> list[Any]:
    ready = f"{_status(obj).get('readyReplicas', 0)}/{_spec(obj).get('replicas', 0)}"
    return [_name(obj), ready, _age(obj, now), *_containers(_spec(obj).get("template"))]


def _daemon_set(obj: Json, now: str) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    names = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    nodes = _labels(_spec(spec.get("template") or {}).get("nodeSelector"))
    counts = [status.get(name, 0) for name in names]
    template = _containers(spec.get("template"))
    return [_name(obj), *counts, nodes, _age(obj, now), *template, _selector(spec.get("selector"))]


def _condition(obj: Json, wanted: str) -> bool:
    conditions = _status(obj).get("conditions") or ()
    return next((each.get("status") == "True" for each in conditions if each.get("type") == wanted), False)


def _job(obj: Json, now: str) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    done = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    elif (spec.get("parallelism") or 0) > 1:
        completions = f"{done}/1 of {spec['parallelism']}"
    else:
        completions = f"{done}/1"
    started, ended = status.get("startTime"), status.get("completionTime")
    duration = age(started, ended or now) if started else ""
    phase = next((each for each in ("Complete", "Failed") if _condition(obj, each)), "")
    if not phase and _meta(obj).get("deletionTimestamp"):
        phase = "Terminating"
    later = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    phase = phase or next((each for each in later if _condition(obj, each)), "Running")
    template = _containers(spec.get("template"))
    return [_name(obj), phase, completions, duration, _age(obj, now), *template, _selector(spec.get("selector"))]


def _cron_job(obj: Json, now: str) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    last = status.get("lastScheduleTime")
    job = _spec(spec.get("jobTemplate") or {})
    return [
        _name(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        UNSET if spec.get("suspend") is None else str(bool(spec["suspend"])),
        len(status.get("active") or ()),
        age(last, now) if last else NONE,
        _age(obj, now),
        *_containers(job.get("template")),
        _selector(job.get("selector")),
    ]


def _addresses(obj: Json) -> str:
    points = (_status(obj).get("loadBalancer") or {}).get("ingress") or ()
    return ",".join(sorted({each.get("ip") or each.get("hostname") or "" for each in points} - {""}))


def _external_ip(obj: Json) -> str:
    spec = _spec(obj)
    kind, given = spec.get("type"), spec.get("externalIPs") or []
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(given) or NONE
    if kind == "LoadBalancer":
        balancer = _addresses(obj)
        return ",".join([*([balancer] if balancer else []), *given]) or "<pending>"
    return str(spec.get("externalName", "")) if kind == "ExternalName" else "<unknown>"


def _port(port: Json) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node}/{port.get('protocol', '')}"


def _service(obj: Json, now: str) -> list[Any]:
    spec = _spec(obj)
    address = (spec.get("clusterIPs") or [NONE])[0]
    ports = ",".join(map(_port, spec.get("ports") or ())) or NONE
    external = _external_ip(obj)
    return [_name(obj), spec.get("type", ""), address, external, ports, _age(obj, now), _labels(spec.get("selector"))]


def _ingress(obj: Json, now: str) -> list[Any]:
    spec = _spec(obj)
    rules = spec.get("rules") or ()
    hosts = [rule["host"] for rule in rules if rule.get("host")]
    shown = ",".join(hosts[:3]) or "*"
    if len(hosts) >= 3 and len(rules) > 3:
        shown += f" + {len(rules) - 3} more..."
    ports = "80, 443" if spec.get("tls") else "80"
    return [_name(obj), spec.get("ingressClassName") or NONE, shown, _addresses(obj), ports, _age(obj, now)]


def _endpoints(obj: Json, now: str) -> list[Any]:
    found: list[str] = []
    for subset in obj.get("subsets") or ():
        addresses = [each.get("ip", "") for each in subset.get("addresses") or ()]
        for port in subset.get("ports") or (None,):
            number = None if port is None else port.get("port", 0)
            found += [each if number is None else f"{_host(each)}:{number}" for each in addresses]
    shown = _some(found, len(found)) if obj.get("subsets") else NONE
    return [_name(obj), shown, _age(obj, now)]


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _endpoint_slice(obj: Json, now: str) -> list[Any]:
    numbers = [str(port.get("port") or port.get("name") or "*") for port in obj.get("ports") or ()]
    addresses = [address for each in obj.get("endpoints") or () for address in each.get("addresses") or ()]
    ports = _some(numbers, len(numbers), empty=UNSET)
    return [
        _name(obj),
        obj.get("addressType", ""),
        ports,
        _some(addresses, len(addresses), empty=UNSET),
        _age(obj, now),
    ]


def _node(obj: Json, now: str) -> list[Any]:
    info = _status(obj).get("nodeInfo") or {}
    ready = [each for each in _status(obj).get("conditions") or () if each.get("type") == "Ready"]
    status = "Unknown" if not ready else "Ready" if ready[-1].get("status") == "True" else "NotReady"
    if _spec(obj).get("unschedulable"):
        status += ",SchedulingDisabled"
    prefix = "node-role.kubernetes.io/"
    labels = _meta(obj).get("labels") or {}
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)} | {
        labels.get("kubernetes.io/role", "")
    }
    addresses = _status(obj).get("addresses") or ()
    found = [
        next((each.get("address", "") for each in addresses if each.get("type") == kind), NONE)
        for kind in ("InternalIP", "ExternalIP")
    ]
    system = [info.get(key) or "<unknown>" for key in ("osImage", "kernelVersion", "containerRuntimeVersion")]
    role = ",".join(sorted(roles - {""})) or NONE
    return [_name(obj), status, role, _age(obj, now), info.get("kubeletVersion", ""), *found, *system]


def _event(obj: Json, now: str) -> list[Any]:
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
        _name(obj),
    ]


def _modes(modes: Iterable[str] | None) -> str:
    short = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
    return ",".join(short[mode] for mode in short if mode in set(modes or ()))


def _storage_class_of(obj: Json) -> str:
    beta = (_meta(obj).get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    return str(_spec(obj).get("storageClassName") or "" if beta is None else beta)


def _volume_phase(obj: Json) -> str:
    return "Terminating" if _meta(obj).get("deletionTimestamp") else _status(obj).get("phase", "")


def _persistent_volume(obj: Json, now: str) -> list[Any]:
    spec = _spec(obj)
    claim = spec.get("claimRef")
    return [
        _name(obj),
        (spec.get("capacity") or {}).get("storage", "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _volume_phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _storage_class_of(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        _status(obj).get("reason", ""),
        _age(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def _persistent_volume_claim(obj: Json, now: str) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    volume = spec.get("volumeName", "")
    capacity = (status.get("capacity") or {}).get("storage", "0") if volume else ""
    modes = _modes(status.get("accessModes")) if volume else ""
    classes = [_storage_class_of(obj), spec.get("volumeAttributesClassName") or UNSET]
    mode = spec.get("volumeMode") or UNSET
    return [_name(obj), _volume_phase(obj), volume, capacity, modes, *classes, _age(obj, now), mode]


def _binding(obj: Json, now: str) -> list[Any]:
    role = obj.get("roleRef") or {}
    subjects = obj.get("subjects") or ()
    people = [
        ", ".join(each.get("name", "") for each in subjects if each.get("kind") == kind) for kind in ("User", "Group")
    ]
    accounts = (each for each in subjects if each.get("kind") == "ServiceAccount")
    service = ", ".join(f"{each.get('namespace', '')}/{each.get('name', '')}" for each in accounts)
    return [_name(obj), f"{role.get('kind', '')}/{role.get('name', '')}", _age(obj, now), *people, service]


def _storage_class(obj: Json, now: str) -> list[Any]:
    annotations = _meta(obj).get("annotations") or {}
    default = any(
        annotations.get(f"storageclass.{beta}kubernetes.io/is-default-class") == "true" for beta in ("", "beta.")
    )
    return [
        _name(obj) + (" (default)" if default else ""),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        _age(obj, now),
    ]


def _controller_revision(obj: Json, now: str) -> list[Any]:
    owners = _meta(obj).get("ownerReferences") or ()
    owner = next((each for each in owners if each.get("controller")), None)
    shown = NONE
    if owner is not None:
        group = owner.get("apiVersion", "").rpartition("/")[0]
        kind = owner.get("kind", "") + (f".{group}" if group else "")
        shown = f"{kind.lower()}/{owner.get('name', '')}"
    return [_name(obj), shown, obj.get("revision", 0), _age(obj, now)]


def _resource_quota(obj: Json, now: str) -> list[Any]:
    status = _status(obj)
    hard, used = status.get("hard") or {}, status.get("used") or {}
    lines = [(name.startswith("limits."), f"{name}: {used.get(name, '0')}/{hard[name]}") for name in sorted(hard)]
    columns = [", ".join(text for limit, text in lines if limit is wanted) for wanted in (False, True)]
    return [_name(obj), *columns, _age(obj, now)]


def _priority_class(obj: Json, now: str) -> list[Any]:
    value, default = obj.get("value", 0), bool(obj.get("globalDefault"))
    return [_name(obj), value, default, _age(obj, now), obj.get("preemptionPolicy") or ""]


def _ingress_class(obj: Json, now: str) -> list[Any]:
    parameters = _spec(obj).get("parameters")
    shown = NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        shown = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    return [_name(obj), _spec(obj).get("controller", ""), shown, _age(obj, now)]


def _available(value: Any) -> str:
    return "N/A" if value is None else str(value)


_APPS: Final = ("apps",)
_BATCH: Final = ("batch",)
_NETWORKING: Final = ("networking.k8s.io",)
_RBAC: Final = ("rbac.authorization.k8s.io",)
_STORAGE: Final = ("storage.k8s.io",)
_WEBHOOKS: Final = Cells(_simple(lambda obj, _: len(obj.get("webhooks") or ())), ("admissionregistration.k8s.io",))

CELLS: Final[dict[str, Cells]] = {
    "ConfigMap": Cells(_simple(lambda obj, _: len(obj.get("data") or ()) + len(obj.get("binaryData") or ()))),
    "ClusterRoleBinding": Cells(_binding, _RBAC),
    "ControllerRevision": Cells(_controller_revision, _APPS),
    "CronJob": Cells(_cron_job, _BATCH),
    "DaemonSet": Cells(_daemon_set, _APPS),
    "Deployment": Cells(_deployment, _APPS),
    "EndpointSlice": Cells(_endpoint_slice, ("discovery.k8s.io",)),
    "Endpoints": Cells(_endpoints),
    "Event": Cells(_event, ("", "events.k8s.io")),
    "Ingress": Cells(_ingress, _NETWORKING),
    "IngressClass": Cells(_ingress_class, _NETWORKING),
    "Job": Cells(_job, _BATCH),
    "Lease": Cells(_simple(lambda obj, _: _spec(obj).get("holderIdentity") or ""), ("coordination.k8s.io",)),
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "Namespace": Cells(_simple(lambda obj, _: _status(obj).get("phase", ""))),
    "NetworkPolicy": Cells(_simple(lambda obj, _: _selector(_spec(obj).get("podSelector") or {})), _NETWORKING),
    "Node": Cells(_node),
    "PersistentVolume": Cells(_persistent_volume),
    "PersistentVolumeClaim": Cells(_persistent_volume_claim),
    "Pod": Cells(pod_cells),
    "PodDisruptionBudget": Cells(
        _simple(
            lambda obj, _: _available(_spec(obj).get("minAvailable")),
            lambda obj, _: _available(_spec(obj).get("maxUnavailable")),
            lambda obj, _: _status(obj).get("disruptionsAllowed", 0),
        ),
        ("policy",),
    ),
    "PriorityClass": Cells(_priority_class, ("scheduling.k8s.io",)),
    "ReplicaSet": Cells(_replicas, _APPS),
    "ReplicationController": Cells(_replicas),
    "ResourceQuota": Cells(_resource_quota),
    "RoleBinding": Cells(_binding, _RBAC),
    "Secret": Cells(_simple(lambda obj, _: obj.get("type", ""), lambda obj, _: len(obj.get("data") or ()))),
    "Service": Cells(_service),
    "ServiceAccount": Cells(_simple()),
    "StatefulSet": Cells(_stateful_set, _APPS),
    "StorageClass": Cells(_storage_class, _STORAGE),
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}
