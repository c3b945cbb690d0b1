"""Defaults of pods, and of the pod templates in everything that makes pods.

Most belong to the spec and so show up in templates too. A few belong to pods alone: requests taken from limits,
``enableServiceLinks``, host ports, and requests for the pod as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kontend.kube.builtin.defaults.images import pull_policy
from kontend.kube.builtin.defaults.quantities import round_up, round_up_requirements
from kontend.kube.builtin.defaults.volumes import volume
from kontend.kube.json_types import Json
from kontend.kube.quantity import Quantity, parse

_HUGE_PAGES: Final = "hugepages-"
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS: Final = ("postStart", "preStop")


def pod(obj: Json) -> None:
    """A pod."""
    spec = obj["spec"]
    containers = spec.get("containers") or []
    init_containers = spec.get("initContainers") or []
    for container in (*containers, *init_containers):
        _requests_from_limits(container["resources"])
    if resources := spec.get("resources"):
        _whole_pod(resources, containers, init_containers)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in (*containers, *init_containers):
            for port in container.get("ports", ()):
                if port["containerPort"]:
                    port.setdefault("hostPort", port["containerPort"])
    pod_spec(spec)
    _status(obj["status"])


def pod_template_object(obj: Json) -> None:
    """A PodTemplate, the kind."""
    pod_spec(obj["template"]["spec"])


def pod_spec(spec: Json) -> None:
    """The spec of a pod or of a template."""
    if "dnsPolicy" not in spec:
        spec["dnsPolicy"] = "ClusterFirst"
    if "restartPolicy" not in spec:
        spec["restartPolicy"] = "Always"
    if "securityContext" not in spec:
        spec["securityContext"] = {}
    if "terminationGracePeriodSeconds" not in spec:
        spec["terminationGracePeriodSeconds"] = 30
    if "schedulerName" not in spec:
        spec["schedulerName"] = "default-scheduler"
    for pod_volume in spec.get("volumes", ()):
        volume(pod_volume)
    for container in spec["containers"] or ():
        _container(container)
    for container in spec.get("initContainers", ()):
        _container(container)
    for container in spec.get("ephemeralContainers", ()):
        _container(container)
    round_up(spec.get("overhead"))
    round_up_requirements(spec.get("resources"))


def _container(container: Json) -> None:
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    if "terminationMessagePath" not in container:
        container["terminationMessagePath"] = "/dev/termination-log"
    if "terminationMessagePolicy" not in container:
        container["terminationMessagePolicy"] = "File"
    for port in container.get("ports", ()):
        if "protocol" not in port:
            port["protocol"] = "TCP"
    for variable in container.get("env", ()):
        if "valueFrom" in variable:
            source = variable["valueFrom"]
            if "fieldRef" in source:
                source["fieldRef"].setdefault("apiVersion", "v1")
            if "fileKeyRef" in source:
                source["fileKeyRef"].setdefault("optional", False)
    if container["resources"]:
        round_up_requirements(container["resources"])
    for name in _PROBES:
        if name in container:
            _probe(container[name])
    if "lifecycle" in container:
        for name in _HOOKS:
            hook = container["lifecycle"].get(name)
            if hook and "httpGet" in hook:
                _http_get(hook["httpGet"])


def _probe(probe: Json) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    if "httpGet" in probe:
        _http_get(probe["httpGet"])
    if "grpc" in probe and probe["grpc"].get("service") is None:
        probe["grpc"]["service"] = ""


def _http_get(action: Json) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


def _requests_from_limits(resources: Json) -> None:
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **resources.get("requests", {})}


def _status(status: Json) -> None:
    for name in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for address in status.get(name, ()):
            round_up(address.get("allocatedResources"))
            round_up_requirements(address.get("resources"))
    round_up(status.get("allocatedResources"))
    round_up_requirements(status.get("resources"))


def _whole_pod(resources: Json, containers: list[Json], init_containers: list[Json]) -> None:
    """Resources of the pod as a whole: huge page limits and requests that only its containers name."""
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    if limits or requests:
        for name, quantity in _aggregate("limits", containers, init_containers).items():
            if name.startswith(_HUGE_PAGES) and name not in requests and name not in limits:
                limits[name] = str(quantity)
        if limits:
            resources["limits"] = limits
    if not limits:
        return
    for name, quantity in _aggregate("requests", containers, init_containers).items():
        if name in ("cpu", "memory") and name not in requests:
            requests[name] = str(quantity)
    for name, text in limits.items():
        if name in ("cpu", "memory") or name.startswith(_HUGE_PAGES):
            requests.setdefault(name, text)
    if requests:
        resources["requests"] = requests


def _aggregate(what: str, containers: list[Json], init_containers: list[Json]) -> dict[str, Quantity]:
    """Return the resources of all containers together: the sum, or the most that any init step takes."""
    total: dict[str, Quantity] = {}
    for container in containers:
        _add(total, _quantities(container, what))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in init_containers:
        needs = dict(_quantities(container, what))
        if container.get("restartPolicy") == "Always":
            _add(total, needs.items())
            _add(sidecars, needs.items())
            needs = dict(sidecars)
        else:
            _add(needs, sidecars.items())
        _raise(peak, needs)
    _raise(total, peak)
    return total


def _quantities(container: Json, what: str) -> Iterable[tuple[str, Quantity]]:
    return [(name, parse(text)) for name, text in container["resources"].get(what, {}).items()]


def _add(total: dict[str, Quantity], more: Iterable[tuple[str, Quantity]]) -> None:
    for name, quantity in more:
        total[name] = total[name] + quantity if name in total else quantity


def _raise(most: dict[str, Quantity], others: dict[str, Quantity]) -> None:
    for name, quantity in others.items():
        if name not in most or most[name] < quantity:
            most[name] = quantity
