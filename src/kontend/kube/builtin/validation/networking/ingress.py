"""Ingresses and ingress classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.validation.checks import bad, dns_subdomain, immutable, parse_ip, port_number, valid_ip
from kontend.kube.builtin.validation.domain_path import domain_prefixed_path
from kontend.kube.builtin.validation.networking.service import load_balancer_hostname
from kontend.kube.field_errors import FieldError, forbidden, invalid, not_supported, required, too_long
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import (
    dns1035_label,
    dns1123_label,
    dns1123_subdomain,
    path_segment,
    port_name,
    wildcard_dns1123_subdomain,
)

CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES: Final = ("//", "/./", "/../", "%2f", "%2F")
_BAD_SUFFIXES: Final = ("/..", "/.")


def _host(name: str, path: str) -> list[FieldError]:
    return bad(path, name, wildcard_dns1123_subdomain(name) if "*" in name else dns1123_subdomain(name))


def validate_ingress(obj: Json) -> list[FieldError]:
    """Validate a new ingress."""
    errors = _spec(obj.get("spec") or {})
    annotation = ((obj.get("metadata") or {}).get("annotations") or {}).get(CLASS_ANNOTATION)
    name = (obj.get("spec") or {}).get("ingressClassName")
    if annotation is not None and name is not None and annotation != name:
        why = "must match `ingressClassName` when both are specified"
        errors.append(invalid(f"annotations.{CLASS_ANNOTATION}", annotation, why))
    return errors


def validate_ingress_update(new: Json, old: Json) -> list[FieldError]:  # noqa: ARG001
    """Validate a changed ingress."""
    return _spec(new.get("spec") or {})


def _spec(spec: Json) -> list[FieldError]:
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    errors: list[FieldError] = []
    if not rules and backend is None:
        errors.append(invalid("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        errors += _backend(backend, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        errors += _rule(rule, f"spec.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or []):
        where, secret = f"spec.tls[{index}]", tls.get("secretName", "")
        for number, host in enumerate(tls.get("hosts") or []):
            errors += _host(host, f"{where}.hosts[{number}]")
        if secret:
            errors += dns_subdomain(secret, f"{where}.secretName")
    if spec.get("ingressClassName") is not None:
        errors += dns_subdomain(spec["ingressClassName"], "spec.ingressClassName")
    return errors


def _rule(rule: Json, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    host = rule.get("host", "")
    if host:
        if parse_ip(host) is not None:
            errors.append(invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        errors += _host(host, f"{path}.host")
    http = rule.get("http")
    if http is None:
        return errors
    if not http.get("paths"):
        errors.append(required(f"{path}.http.paths"))
    for index, item in enumerate(http.get("paths") or []):
        errors += _path(item, f"{path}.http.paths[{index}]")
    return errors


def _path(given: Json, path: str) -> list[FieldError]:
    kind, value, where = given.get("pathType"), given.get("path", ""), f"{path}.path"
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors: list[FieldError] = []
    if kind not in _PATH_TYPES:
        errors.append(not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    elif not value.startswith("/") and (value or kind != "ImplementationSpecific"):
        errors.append(invalid(where, value, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        errors += [invalid(where, value, f"must not contain '{bad_}'") for bad_ in _BAD_SEQUENCES if bad_ in value]
        errors += [invalid(where, value, f"cannot end with '{bad_}'") for bad_ in _BAD_SUFFIXES if value.endswith(bad_)]
    return errors + _backend(given.get("backend") or {}, f"{path}.backend")


def _backend(backend: Json, path: str) -> list[FieldError]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _reference(resource, f"{path}.resource")
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    name, port = service.get("name", ""), service.get("port") or {}
    where = f"{path}.service.name"
    errors = bad(where, name, dns1035_label(name)) if name else [required(where)]
    if port.get("name") and port.get("number"):
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif port.get("name"):
        errors += bad(f"{path}.service.port.name", port["name"], port_name(port["name"]))
    elif port.get("number"):
        errors += port_number(port["number"], f"{path}.service.port.number")
    else:
        errors.append(required(path, "port name or number is required"))
    return errors


def _reference(reference: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if reference.get("apiGroup") is not None:
        errors += dns_subdomain(reference["apiGroup"], f"{path}.apiGroup")
    for field in ("kind", "name"):
        value = reference.get(field, "")
        errors += bad(f"{path}.{field}", value, path_segment(value)) if value else [required(f"{path}.{field}")]
    return errors


def validate_ingress_status(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed status."""
    given, before = (
        ((version.get("status") or {}).get("loadBalancer") or {}).get("ingress") or [] for version in (new, old)
    )
    known = {entry.get("ip", "") for entry in before}
    errors: list[FieldError] = []
    for index, entry in enumerate(given):
        where, address = f"status.loadBalancer.ingress[{index}]", entry.get("ip", "")
        if address and address not in known:
            errors += valid_ip(address, f"{where}.ip")
        errors += load_balancer_hostname(entry.get("hostname", ""), f"{where}.hostname")
    return errors


def validate_ingress_class(obj: Json) -> list[FieldError]:
    """Validate an ingress class."""
    spec = obj.get("spec") or {}
    controller, parameters = spec.get("controller", ""), spec.get("parameters")
    errors = [too_long("spec.controller", 250)] if len(controller) > 250 else []
    errors += domain_prefixed_path(controller, "spec.controller")
    return errors + ([] if parameters is None else _parameters(parameters, "spec.parameters"))


def _parameters(parameters: Json, path: str) -> list[FieldError]:
    errors = _reference(parameters, path)
    scope, namespace, where = parameters.get("scope"), parameters.get("namespace"), f"{path}.namespace"
    if scope is None:
        errors.append(required(f"{path}.scope"))
    elif scope not in ("Cluster", "Namespace"):
        errors.append(not_supported(f"{path}.scope", scope, ("Cluster", "Namespace")))
    elif scope == "Namespace" and namespace is None:
        errors.append(required(where, "`parameters.scope` is set to 'Namespace'"))
    elif scope == "Namespace":
        errors += bad(where, namespace, dns1123_label(str(namespace)))
    elif namespace is not None:
        errors.append(forbidden(where, "`parameters.scope` is set to 'Cluster'"))
    return errors


def validate_ingress_class_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed ingress class."""
    controller, before = ((version.get("spec") or {}).get("controller", "") for version in (new, old))
    return immutable(controller, before, "spec.controller") + validate_ingress_class(new)
