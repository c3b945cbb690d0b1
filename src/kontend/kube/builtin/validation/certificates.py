"""Certificate signing requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.validation.checks import bad
from kontend.kube.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    go_quote,
    invalid,
    not_supported,
    required,
    too_long,
)
from kontend.kube.golang.base64 import decode_base64
from kontend.kube.golang.pem import PemBlock, decode_pem
from kontend.kube.golang.x509 import X509Error, check_certificate_request, check_certificates
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_label, dns1123_subdomain

LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
_SHORTEST: Final = 600
_LONGEST_DOMAIN: Final = 253
_LONGEST_NAME: Final = 253 + 253 + 63 + 2
_USAGES: Final = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
)  # fmt: skip
_DECISIONS: Final = ("Approved", "Denied")
_ALWAYS_TRUE: Final = ("Approved", "Denied", "Failed")


def validate_request(obj: Json, old: Json | None = None) -> list[FieldError]:
    """Return the mistakes in a certificate signing request; what the old one had already is not refused."""
    spec, before = obj.get("spec") or {}, (old or {}).get("spec") or {}
    errors: list[FieldError] = []
    problem = _request_problem(spec.get("request"))
    if problem:
        errors.append(invalid("spec.request", spec.get("request") or None, problem))
    usages, were = spec.get("usages") or [], before.get("usages") or []
    if not usages:
        errors.append(required("spec.usages"))
    if set(were) <= set(_USAGES):
        errors += [
            not_supported(f"spec.usages[{index}]", usage, _USAGES)
            for index, usage in enumerate(usages)
            if usage not in _USAGES
        ]
    if len(set(were)) == len(were):
        errors += [
            duplicate(f"spec.usages[{index}]", usage) for index, usage in enumerate(usages) if usage in usages[:index]
        ]
    signer = spec.get("signerName") or ""
    if signer == LEGACY_SIGNER != before.get("signerName"):
        why = "the legacy signerName is not allowed via this API version"
        errors.append(invalid("spec.signerName", signer, why))
    else:
        errors += signer_name(signer, "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(invalid("spec.expirationSeconds", seconds, why))
    return errors + _conditions(_conditions_of(obj), _conditions_of(old)) + _certificate(obj, old)


def _request_problem(request: str | None) -> str:
    blocks = decode_pem(decode_base64(request or ""))
    if not blocks or blocks[0].type != "CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        check_certificate_request(blocks[0].body)
    except X509Error as error:
        return str(error)
    return ""


def signer_name(name: str, path: str) -> list[FieldError]:
    """Return the name of a signer: a domain and a path."""
    if not name:
        return [required(path)]
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(path, name, why)]
    errors = [too_long(path, _LONGEST_DOMAIN)] if len(domain.encode()) > _LONGEST_DOMAIN else []
    labels = domain.split(".")
    errors += _labels(domain, labels, path, [dns1123_label(label) for label in labels])
    if len(labels) < 2:
        errors.append(invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    parts = rest.split(".")
    errors += _labels(rest, parts, path, [dns1123_subdomain(part) for part in parts])
    return [*errors, too_long(path, _LONGEST_NAME)] if len(name.encode()) > _LONGEST_NAME else errors


def _labels(text: str, labels: list[str], path: str, problems: list[list[str]]) -> list[FieldError]:
    """Return the complaints about the first label that is wrong."""
    for label, wrong in zip(labels, problems, strict=True):
        if wrong:
            return bad(path, text, (f"validating label {go_quote(label)}: {message}" for message in wrong))
    return []


def _conditions_of(obj: Mapping[str, Any] | None) -> list[Json]:
    return list(((obj or {}).get("status") or {}).get("conditions") or [])


def _conditions(conditions: list[Json], before: list[Json]) -> list[FieldError]:
    path = "status.conditions"
    old_types = [condition.get("type") or "" for condition in before]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind, status, where = condition.get("type") or "", condition.get("status") or "", f"{path}[{index}]"
        if not kind and "" not in old_types:
            errors.append(required(f"{where}.type"))
        allowed = ("True",) if kind in _ALWAYS_TRUE else ("False", "True", "Unknown")
        if not status:
            errors.append(required(f"{where}.status"))
        elif status not in allowed:
            errors.append(not_supported(f"{where}.status", status, allowed))
        if kind in _DECISIONS and not set(_DECISIONS) <= set(old_types) and set(_DECISIONS) - {kind} <= seen:
            errors.append(invalid(path, kind, "Approved and Denied conditions are mutually exclusive"))
        if len(set(old_types)) == len(old_types) and kind in seen:
            errors.append(duplicate(f"{where}.type", kind))
        seen.add(kind)
    return errors


def _certificate(obj: Json, old: Json | None) -> list[FieldError]:
    new, before = ((version or {}).get("status") or {} for version in (obj, old))
    given = new.get("certificate")
    if old is not None and (given == before.get("certificate") or _certificate_problem(before.get("certificate"))):
        return []
    problem = _certificate_problem(given)
    return [invalid("status.certificate", "<certificate data>", problem)] if problem else []


def _certificate_problem(certificate: str | None) -> str:
    data = decode_base64(certificate or "")
    if not data:
        return ""
    blocks = decode_pem(data)
    try:
        for block in blocks:
            _check_block(block)
    except X509Error as error:
        return str(error)
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


def _check_block(block: PemBlock) -> None:
    if block.type != "CERTIFICATE":
        raise X509Error(f"only CERTIFICATE PEM blocks are allowed, found {go_quote(block.type)}")
    if block.headers:
        raise X509Error("no PEM block headers are permitted")
    if not check_certificates(block.body):
        raise X509Error("found CERTIFICATE PEM block containing 0 certificates")


def validate_request_update(new: Json, old: Json, subresource: str) -> list[FieldError]:
    """Return the mistakes in a change: decisions are made through ``approval``, certificates issued through
    ``status``."""
    errors = validate_request(new, old)
    path = "status.conditions"
    counts = {kind: [_count(version, kind) for version in (old, new)] for kind in _ALWAYS_TRUE}
    for kind, (before, after) in counts.items():
        if after < before:
            errors.append(forbidden(path, f"updates may not remove a condition of type {go_quote(kind)}"))
    if subresource != "approval":
        for kind in _DECISIONS:
            before, after = counts[kind]
            if after > before:
                errors.append(forbidden(path, f"updates may not add a condition of type {go_quote(kind)}"))
    certificates = [((version.get("status") or {}).get("certificate")) or "" for version in (old, new)]
    if certificates[0] != certificates[1]:
        if subresource != "status":
            errors.append(forbidden("status.certificate", "updates may not set certificate content"))
        elif certificates[0]:
            errors.append(forbidden("status.certificate", "updates may not modify existing certificate content"))
    return errors


def _count(obj: Mapping[str, Any], kind: str) -> int:
    return sum(condition.get("type") == kind for condition in _conditions_of(obj))
