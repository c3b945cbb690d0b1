"""Storage classes."""

from __future__ import annotations

from kontend.kube.builtin.validation.checks import immutable, label_name
from kontend.kube.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required, too_long
from kontend.kube.json_types import Json
from kontend.kube.meta.equality import same

_MAX_PARAMETERS = 512
_MAX_SIZE = 256 * 1024


def validate_storage_class(obj: Json) -> list[FieldError]:
    """Validate a storage class."""
    provisioner = obj.get("provisioner", "")
    errors = label_name(provisioner.lower(), "provisioner") if provisioner else [required("provisioner")]
    errors += parameter_errors(obj.get("parameters") or {})
    policy, policies = obj.get("reclaimPolicy"), ("Delete", "Retain")
    if policy and policy not in policies:
        errors.append(not_supported("reclaimPolicy", policy, policies))
    mode, modes = obj.get("volumeBindingMode"), ("Immediate", "WaitForFirstConsumer")
    if mode is None:
        errors.append(required("volumeBindingMode"))
    elif mode not in modes:
        errors.append(not_supported("volumeBindingMode", mode, modes))
    return errors + _topologies(obj.get("allowedTopologies") or [])


def parameter_errors(parameters: dict[str, str]) -> list[FieldError]:
    """Validate the parameters of a class."""
    if len(parameters) > _MAX_PARAMETERS:
        return [too_long("parameters", _MAX_PARAMETERS)]
    errors = [invalid("parameters", key, "field can not be empty.") for key in parameters if not key]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items())
    return [*errors, too_long("parameters", _MAX_SIZE)] if size > _MAX_SIZE else errors


def _topologies(terms: list[Json]) -> list[FieldError]:
    errors: list[FieldError] = []
    # The server begins with as many empty terms as there are terms, so that one that is empty repeats them all.
    seen: list[dict[str, set[str]]] = [{} for _ in terms]
    for index, term in enumerate(terms):
        path = f"allowedTopologies[{index}].matchLabelExpressions"
        expressions: dict[str, set[str]] = {}
        for number, expression in enumerate(term.get("matchLabelExpressions") or []):
            where, key, values = f"{path}[{number}]", expression.get("key", ""), expression.get("values") or []
            if not values:
                errors.append(required(f"{where}.values"))
            errors += [
                duplicate(f"{where}.values[{i}]", value) for i, value in enumerate(values) if value in values[:i]
            ]
            errors += label_name(key, f"{where}.key")
            if key in expressions:
                errors.append(duplicate(f"{where}.key", key))
            expressions[key] = set(values)
        errors += [duplicate(path, "")] * seen.count(expressions)
        seen.append(expressions)
    return errors


def validate_storage_class_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed storage class."""
    errors = validate_storage_class(new)
    for field in ("parameters", "provisioner", "reclaimPolicy"):
        if not same(new.get(field) or None, old.get(field) or None):
            errors.append(forbidden(field, f"updates to {field} are forbidden."))
    return errors + immutable(new.get("volumeBindingMode"), old.get("volumeBindingMode"), "volumeBindingMode")
