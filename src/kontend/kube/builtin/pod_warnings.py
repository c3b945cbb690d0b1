"""Warnings about pods and pod templates that are valid, but probably not what their author wants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kontend.kube.builtin.node_labels import DEPRECATED, term_warnings
from kontend.kube.builtin.validation.amounts import amount, is_whole
from kontend.kube.field_errors import go_quote
from kontend.kube.json_types import JsonView
from kontend.kube.meta.name_rules import dns1123_label

_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NULL_SELECTOR: Final = "a null labelSelector results in matching no pod"
_BYTES: Final = ("memory", "ephemeral-storage")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_warnings(pod: JsonView, path: str = "") -> list[str]:
    """List the warnings about a pod, or about a template at ``path``.

    >>> pod_warnings({"spec": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}})
    ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead']
    """
    prefix = f"{path}." if path else ""
    spec, where = pod.get("spec") or {}, f"{prefix}spec"
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    warnings = _scheduling(spec, where)
    warnings += [
        f"{prefix}metadata.annotations[{name}]: {why}" for name, why in _ANNOTATIONS.items() if name in annotations
    ]
    for index, volume in enumerate(spec.get("volumes") or ()):
        for kind, why in _VOLUMES.items():
            if volume.get(kind) is not None:
                shown = "storageOS" if kind == "storageos" else kind
                warnings.append(f"{where}.volumes[{index}].{shown}: {why}")
    warnings += _repeated(spec.get("hostAliases"), "ip", f"{where}.hostAliases")
    warnings += _repeated(spec.get("imagePullSecrets"), "name", f"{where}.imagePullSecrets")
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            warnings.append(f'{where}.imagePullSecrets[{index}].name: invalid empty name ""')
    warnings += _fractions(spec.get("overhead"), f"{where}.overhead")
    profile = (spec.get("securityContext") or {}).get("seccompProfile")
    if profile is None and "seccomp.security.alpha.kubernetes.io/pod" in annotations:
        warnings.append(f"{prefix}metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: {_SECCOMP}")
    containers = list(_containers(spec, where))
    for place, container in containers:
        warnings += _container(place, container, annotations, prefix)
    warnings += _ports(containers)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        warnings.append(f"{where}.terminationGracePeriodSeconds: {why}")
    return warnings + _affinity(spec.get("affinity") or {}, f"{where}.affinity")


def _scheduling(spec: JsonView, path: str) -> list[str]:
    names = sorted(name for name in spec.get("nodeSelector") or () if name in DEPRECATED)
    warnings = [f"{path}.nodeSelector[{name}]: {DEPRECATED[name]}" for name in names]
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    where = f"{path}.affinity.nodeAffinity"
    for index, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        warnings += term_warnings(term, f"{where}.{_REQUIRED}.nodeSelectorTerms[{index}]")
    for index, term in enumerate(affinity.get(_PREFERRED) or ()):
        warnings += term_warnings(term.get("preference") or {}, f"{where}.{_PREFERRED}[{index}].preference")
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        place, key = f"{path}.topologySpreadConstraints[{index}]", constraint.get("topologyKey", "")
        if key in DEPRECATED:
            warnings.append(f"{place}.topologyKey: {key} is {DEPRECATED[key]}")
        if constraint.get("labelSelector") is None:
            warnings.append(f"{place}.labelSelector: {_NULL_SELECTOR}")
    return warnings


def _repeated(items: Iterable[JsonView] | None, field: str, path: str) -> list[str]:
    warnings, seen = [], set()
    for index, item in enumerate(items or ()):
        value = item.get(field, "")
        if value in seen:
            warnings.append(f"{path}[{index}].{field}: duplicate {field} {go_quote(value)}")
        seen.add(value)
    return warnings


def _fractions(resources: JsonView | None, path: str, names: Iterable[str] = _BYTES) -> list[str]:
    given = resources or {}
    return [
        f"{path}[{name}]: fractional byte value {go_quote(str(given[name]))} is invalid, must be an integer"
        for name in names
        if name in given and not is_whole(amount(given[name]))
    ]


def _containers(spec: JsonView, path: str) -> Iterable[tuple[str, JsonView]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield f"{path}.{field}[{index}]", container


def _container(path: str, container: JsonView, annotations: JsonView, prefix: str) -> list[str]:
    warnings: list[str] = []
    key = f"container.seccomp.security.alpha.kubernetes.io/{container.get('name', '')}"
    if (container.get("securityContext") or {}).get("seccompProfile") is None and key in annotations:
        warnings.append(f"{prefix}metadata.annotations[{key}]: {_SECCOMP}")
    for name in _BYTES:
        for kind in ("limits", "requests"):
            given = (container.get("resources") or {}).get(kind)
            warnings += _fractions(given, f"{path}.resources.{kind}", (name,))
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        hidden = variable.get("valueFrom") is not None or value == reference or reference not in value
        if name in seen and hidden:
            why = f"hides previous definition of {go_quote(name)}, which may be dropped when using apply"
            warnings.append(f"{path}.env[{index}]: {why}")
        seen.add(name)
    return warnings


def _ports(containers: Iterable[tuple[str, JsonView]]) -> list[str]:
    warnings: list[str] = []
    names: list[str] = []
    seen: dict[tuple[int, str], list[tuple[str, str, int]]] = {}
    named: dict[str, str] = {}
    for path, container in containers:
        for index, port in enumerate(container.get("ports") or ()):
            place, address, number = f"{path}.ports[{index}]", port.get("hostIP", ""), port.get("hostPort") or 0
            others = seen.setdefault((port.get("containerPort") or 0, port.get("protocol", "")), [])
            for other, other_address, other_number in others:
                if (address, number) == (other_address, other_number):
                    warnings.append(f"{place}: duplicate port definition with {other}")
                elif not number or not other_number:
                    warnings.append(f"{place}: overlapping port definition with {other}")
                elif number == other_number and bool(address) != bool(other_address):
                    warnings.append(f"{place}: dangerously ambiguous port definition with {other}")
            others.append((place, address, number))
            name = port.get("name") or ""
            first = named.setdefault(name, place) if name else place
            if first != place:
                why = f"services and probes that select ports by name will use {first}"
                names.append(f"{place}: duplicate port name {go_quote(name)} with {first}, {why}")
    return warnings + names


def _affinity(affinity: JsonView, path: str) -> list[str]:
    warnings: list[str] = []
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                warnings.append(f"{path}.{kind}.{_REQUIRED}[{index}].labelSelector: {_NULL_SELECTOR}")
        for index, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                where = f"{path}.{kind}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector"
                warnings.append(f"{where}: {_NULL_SELECTOR}")
    return warnings


def name_warnings(name: str, *, of_pod: bool = False) -> list[str]:
    """Warns of a name that is no host name.

    >>> name_warnings("web"), len(name_warnings("a.b"))
    ([], 1)
    """
    wrong = dns1123_label(name)
    if not wrong:
        return []
    used = "the Pod's hostname" if of_pod else "Pod names and hostnames"
    why = f"this is used in {used}, which can result in surprising behavior; a DNS label is recommended"
    return [f"metadata.name: {why}: [{' '.join(wrong)}]"]


def template_warnings(
    new: JsonView, old: JsonView | None, template: JsonView | None, path: str, *, names_pods: bool = False
) -> list[str]:
    """List the warnings about a kind with a pod template: when it is new, or its generation has changed."""
    metadata = new.get("metadata") or {}
    if old is not None and (old.get("metadata") or {}).get("generation") == metadata.get("generation"):
        return []
    warnings = name_warnings(metadata.get("name", "")) if names_pods and old is None else []
    return warnings + pod_warnings(template or {}, path)
