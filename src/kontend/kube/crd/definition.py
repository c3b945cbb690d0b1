"""CustomResourceDefinitions: their defaults, the status that the server gives them, and their validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kontend.kube.crd.internal_form import internal_spec
from kontend.kube.crd.names import names_errors
from kontend.kube.crd.spec import Strictness, all_nodes, new_strictness, spec_errors, update_strictness
from kontend.kube.field_errors import FieldError, go_quote, invalid, required
from kontend.kube.golang.url import UrlError, parse_request_uri
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_subdomain
from kontend.kube.meta.object_meta import validate_object_meta, validate_object_meta_update
from kontend.kube.schema.openapi_node import as_mapping
from kontend.kube.schema.string_formats import format_check

_APPROVAL: Final = "api-approved.kubernetes.io"
_SEE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"
_NAMES: Final = ("plural", "singular", "shortNames", "kind", "listKind", "categories")


def _storage_version(spec: Mapping[str, Any]) -> str | None:
    for version in spec.get("versions") or ():
        if as_mapping(version).get("storage") is True:
            return str(version.get("name") or "")
    return None


def prepare_for_create(crd: Json) -> None:
    """A new definition has no status but the version that it stores."""
    stored = _storage_version(crd["spec"])
    crd["status"] = {"storedVersions": [stored]} if stored is not None else {}


def prepare_for_update(new: Json, old: Mapping[str, Any]) -> None:
    """The status stays, except that a new storage version is added to those that were stored."""
    status = dict(as_mapping(old.get("status")))
    stored = _storage_version(new["spec"])
    versions = list(status.get("storedVersions") or ())
    if stored is not None and stored not in versions:
        status["storedVersions"] = [*versions, stored]
    new["status"] = status


def crd_status(crd: Mapping[str, Any], *, now: str = "", taken: Sequence[Mapping[str, Any]] = ()) -> Json:
    """Return the status that the server's controllers leave on a definition; ``taken`` are the other ones in its group.

    A name that another definition was accepted with is refused, and the definition is not established then.
    """
    spec, status = as_mapping(crd.get("spec")), as_mapping(crd.get("status"))
    accepted = dict(as_mapping(status.get("acceptedNames")))
    reason, message = _accept_names(as_mapping(spec.get("names")), accepted, taken)
    conditions = [dict(condition) for condition in status.get("conditions") or ()]
    good = not reason
    _set_condition(
        conditions,
        "NamesAccepted",
        "True" if good else "False",
        reason or "NoConflicts",
        message or "no conflicts found",
        now,
    )
    established = next((condition for condition in conditions if condition.get("type") == "Established"), None)
    if good:
        text = "the initial names have been accepted"
        _set_condition(conditions, "Established", "True", "InitialNamesAccepted", text, now)
    elif established is None:
        _set_condition(conditions, "Established", "False", "NotAccepted", "not all names are accepted", now)
    if _is_protected(str(spec.get("group") or "")):
        _set_approval(conditions, crd, now)
    stored = list(status.get("storedVersions") or ())
    storage = _storage_version(spec)
    if storage is not None and storage not in stored:
        stored.append(storage)
    return {**status, "conditions": conditions, "acceptedNames": accepted, "storedVersions": stored}


def _accept_names(names: Mapping[str, Any], accepted: Json, taken: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Take over the names that are free; return reason and message of the last conflict, if there is one."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in taken:
        given = as_mapping(as_mapping(other.get("status")).get("acceptedNames"))
        resources |= {str(given.get(name) or "") for name in ("plural", "singular")} | set(
            given.get("shortNames") or ()
        )
        kinds |= {str(given.get(name) or "") for name in ("kind", "listKind")}
    reason = message = ""
    for name in _NAMES:
        wanted = names.get(name)
        used = kinds if name in ("kind", "listKind") else resources
        if name == "categories":
            clashes = []
        elif name == "shortNames":
            clashes = [alias for alias in wanted or () if alias not in (accepted.get(name) or ()) and alias in used]
        else:
            clashes = [wanted] if wanted and wanted != accepted.get(name) and wanted in used else []
        if clashes:
            reason = f"{name[0].upper()}{name[1:]}Conflict"
            messages = [f"{go_quote(str(clash))} is already in use" for clash in clashes]
            message = messages[0] if len(messages) == 1 else "[" + ", ".join(messages) + "]"
        elif wanted:
            accepted[name] = wanted
        else:
            accepted.pop(name, None)
    return reason, message


def _set_condition(conditions: list[Json], kind: str, status: str, reason: str, message: str, now: str) -> None:
    new = {"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
    for condition in conditions:
        if condition.get("type") == kind:
            if condition.get("status") == status and condition.get("lastTransitionTime"):
                new["lastTransitionTime"] = condition["lastTransitionTime"]
            condition.update(new)
            return
    conditions.append(new)


def _is_protected(group: str) -> bool:
    return any(group == suffix or group.endswith(f".{suffix}") for suffix in ("k8s.io", "kubernetes.io"))


def _approval(crd: Mapping[str, Any]) -> tuple[str, str]:
    """Read the annotation that approves a protected group: returns its state, and the reason for it."""
    text = str(as_mapping(as_mapping(crd.get("metadata")).get("annotations")).get(_APPROVAL) or "")
    must = f"protected groups must have approval annotation {go_quote(_APPROVAL)}"
    if not text:
        return "missing", f"{must}, {_SEE}"
    if text.startswith("unapproved"):
        return "bypassed", f"not approved: {go_quote(text)}"
    try:
        url = parse_request_uri(text)
        if url.host and url.scheme:
            return "approved", f"approved in {text}"
    except UrlError:
        pass
    return "invalid", f'{must} with either a URL or a reason starting with "unapproved", {_SEE}'


def _set_approval(conditions: list[Json], crd: Mapping[str, Any], now: str) -> None:
    state, reason = _approval(crd)
    names = {
        "approved": ("True", "ApprovedAnnotation"),
        "bypassed": ("False", "UnapprovedAnnotation"),
        "invalid": ("False", "InvalidAnnotation"),
        "missing": ("False", "MissingAnnotation"),
    }
    status, name = names[state]
    _set_condition(conditions, "KubernetesAPIApprovalPolicyConformant", status, name, reason, now)


def validate_crd(crd: Mapping[str, Any]) -> list[FieldError]:
    """Validate a new definition."""
    spec = as_mapping(crd.get("spec"))
    plural = as_mapping(spec.get("names")).get("plural") or ""
    wanted = f"{plural}.{spec.get('group') or ''}"

    def name_rule(name: str) -> list[str]:
        complaints = list(dns1123_subdomain(name))
        return complaints if name == wanted else [*complaints, 'must be spec.names.plural+"."+spec.group']

    errors = validate_object_meta(as_mapping(crd.get("metadata")), namespaced=False, name_rule=name_rule)
    return errors + _errors(crd, None, new_strictness())


def validate_crd_update(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Validate a change of a definition; mistakes that were accepted before are tolerated."""
    errors = validate_object_meta_update(as_mapping(new.get("metadata")), as_mapping(old.get("metadata")))
    return errors + _errors(new, old, update_strictness(new, old))


def crd_warnings(new: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[str]:
    """Return warnings about new string formats that the server does not know.

    >>> node = {"type": "object", "properties": {"a": {"type": "string", "format": "nope"}}}
    >>> crd_warnings({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": node}}]}})
    ['unrecognized format "nope"']
    """
    known = set(_unknown_formats(old)) if old is not None else set()
    return [f"unrecognized format {go_quote(schema)}" for schema in _unknown_formats(new) if schema not in known]


def _unknown_formats(crd: Mapping[str, Any]) -> list[str]:
    spec = internal_spec(as_mapping(crd.get("spec")))
    nodes = [schema for _, node in spec.schemas() for schema in all_nodes(node) if schema.get("type") == "string"]
    return [schema["format"] for schema in nodes if schema.get("format") and format_check(schema["format"]) is None]


def _errors(crd: Mapping[str, Any], old: Mapping[str, Any] | None, strictness: Strictness) -> list[FieldError]:
    spec, status = as_mapping(crd.get("spec")), as_mapping(crd.get("status"))
    errors = spec_errors(spec, strictness)
    if old is not None:
        errors += _immutable_errors(spec, as_mapping(old.get("spec")), established=strictness.established)
    errors += names_errors(as_mapping(status.get("acceptedNames")), "status.acceptedNames")
    errors += _stored_version_errors(spec, status)
    errors += _approval_errors(crd, old)
    was_preserving = old is not None and as_mapping(old.get("spec")).get("preserveUnknownFields") is True
    if spec.get("preserveUnknownFields") is True and not was_preserving:
        instead = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(invalid("spec.preserveUnknownFields", True, f"cannot set to true, {instead}"))
    return errors


def _immutable_errors(new: Mapping[str, Any], old: Mapping[str, Any], *, established: bool) -> list[FieldError]:
    names, before = as_mapping(new.get("names")), as_mapping(old.get("names"))
    fields: list[tuple[str, Any, Any]] = []
    if established:
        fields += [("scope", new.get("scope"), old.get("scope")), ("names.kind", names.get("kind"), before.get("kind"))]
    fields += [("group", new.get("group"), old.get("group"))]
    fields += [("names.plural", names.get("plural"), before.get("plural"))]
    return [invalid(f"spec.{path}", now or "", "field is immutable") for path, now, was in fields if now != was]


def _stored_version_errors(spec: Mapping[str, Any], status: Mapping[str, Any]) -> list[FieldError]:
    path = "status.storedVersions"
    stored = list(status.get("storedVersions") or ())
    if not stored:
        return [invalid(path, None, "must have at least one stored version")]
    errors: list[FieldError] = []
    left = {name: index for index, name in enumerate(stored)}
    for version in spec.get("versions") or ():
        name = str(as_mapping(version).get("name") or "")
        if name in left:
            del left[name]
        elif name not in stored and as_mapping(version).get("storage") is True:
            errors.append(invalid(path, stored, f"must have the storage version {name}"))
    for name, index in left.items():
        says = (
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} and removes {name} from "
            "status.storedVersions"
        )
        errors.append(invalid(f"{path}[{index}]", name, says))
    return errors


def _approval_errors(crd: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[FieldError]:
    if not _is_protected(str(as_mapping(crd.get("spec")).get("group") or "")):
        return []
    state, reason = _approval(crd)
    if old is not None and _approval(old)[0] == state:
        return []
    path = f"metadata.annotations[{_APPROVAL}]"
    if state == "missing":
        return [required(path, reason)]
    if state == "invalid":
        text = as_mapping(as_mapping(crd.get("metadata")).get("annotations")).get(_APPROVAL)
        return [invalid(path, text, reason)]
    return []
