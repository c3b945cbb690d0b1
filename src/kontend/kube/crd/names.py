"""The names, columns, subresources and conversion of a definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kontend.kube.cel.field_paths import FieldPathError, find_field
from kontend.kube.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required, too_many
from kontend.kube.meta.name_rules import dns1035_label
from kontend.kube.schema.openapi_node import Node, as_mapping
from kontend.kube.webhook_client import client_errors, review_version_errors

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_SELECTABLE: Final = 8


def names_errors(names: Node, path: str) -> list[FieldError]:
    """Names must be such that they can stand in paths and on command lines."""
    errors: list[FieldError] = []
    for field in ("plural", "singular", "kind", "listKind"):
        text = str(names.get(field) or "")
        mixed = field in ("kind", "listKind")
        wrong = ",".join(dns1035_label(text.lower() if mixed else text)) if text else ""
        if wrong:
            says = f"may have mixed case, but should otherwise match: {wrong}" if mixed else wrong
            errors.append(invalid(f"{path}.{field}", text, says))
    errors += _label_errors(names.get("shortNames"), f"{path}.shortNames")
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        errors.append(invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same"))
    return errors + _label_errors(names.get("categories"), f"{path}.categories")


def _label_errors(texts: Any, path: str) -> list[FieldError]:
    messages = [(index, text, ",".join(dns1035_label(str(text)))) for index, text in enumerate(texts or ())]
    return [invalid(f"{path}[{index}]", text, wrong) for index, text, wrong in messages if wrong]


def column_errors(column: Node, path: str) -> list[FieldError]:
    """A column needs a name, a known type and a path."""
    errors: list[FieldError] = []
    if not column.get("name"):
        errors.append(required(f"{path}.name"))
    kind, form = column.get("type"), column.get("format")
    says = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        errors.append(required(f"{path}.type", says))
    elif kind not in _COLUMN_TYPES:
        errors.append(invalid(f"{path}.type", kind, says))
    if form and form not in _COLUMN_FORMATS:
        errors.append(invalid(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    where = str(column.get("jsonPath") or "")
    if not where:
        errors.append(required(f"{path}.JSONPath"))
    else:
        errors += _path_errors(where, f"{path}.JSONPath")
    return errors


def _path_errors(text: str, path: str) -> list[FieldError]:
    return [] if text.startswith(".") else [invalid(path, text, "must be a simple json path starting with .")]


def subresource_errors(subresources: Node | None, path: str) -> list[FieldError]:
    """The paths of the scale subresource must lead into spec and status."""
    raw = as_mapping(subresources).get("scale")
    if raw is None:
        return []
    scale = as_mapping(raw)
    errors: list[FieldError] = []
    for field, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        errors += _scale_path_errors(scale.get(field), f"{path}.scale.{field}", (root,), needed=True)
    roots = (".spec.", ".status.")
    return errors + _scale_path_errors(scale.get("labelSelectorPath"), f"{path}.scale.labelSelectorPath", roots)


def _scale_path_errors(text: Any, path: str, allowed: tuple[str, ...], *, needed: bool = False) -> list[FieldError]:
    if not text:
        return [required(path)] if needed else []
    errors = _path_errors(str(text), path)
    if errors or str(text).startswith(allowed):
        return errors
    under = "either .spec or .status" if len(allowed) == 2 else allowed[0].rstrip(".")
    return [invalid(path, text, f"should be a json path under {under}")]


def selectable_errors(fields: Sequence[Any], schema: Node, path: str, *, limited: bool) -> list[FieldError]:
    """Selectable fields must exist, once each, and be simple values."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, field in enumerate(fields):
        where, text = f"{path}[{index}].jsonPath", str(as_mapping(field).get("jsonPath") or "")
        if not text:
            errors.append(required(where))
            continue
        try:
            spelled, node = find_field(text, schema, brackets=False)
        except FieldPathError as error:
            errors.append(invalid(where, text, f"is an invalid path: {error}"))
            continue
        if spelled.split(".")[0] == "metadata":
            errors.append(invalid(where, text, "must not point to fields in metadata"))
        if node.get("type") not in ("string", "boolean", "integer"):
            says = "must point to a field of type string, boolean or integer. "
            says += "Enum string fields and strings with formats are allowed."
            errors.append(invalid(where, text, says))
        if spelled in seen:
            errors.append(duplicate(where, text))
        seen.add(spelled)
    if len(seen) > _MOST_SELECTABLE and limited:
        errors.append(too_many(path, len(seen), _MOST_SELECTABLE))
    return errors


def conversion_errors(conversion: Node, path: str, *, known_versions: bool) -> list[FieldError]:
    """Return the conversion strategy, and the webhook that goes with one of them."""
    errors: list[FieldError] = []
    strategy = conversion.get("strategy") or ""
    if not strategy:
        errors.append(required(f"{path}.strategy"))
    elif strategy not in ("None", "Webhook"):
        errors.append(not_supported(f"{path}.strategy", strategy, ("None", "Webhook")))
    webhook = conversion.get("webhook")
    client = as_mapping(webhook).get("clientConfig")
    versions = list(as_mapping(webhook).get("conversionReviewVersions") or ())
    where = f"{path}.webhookClientConfig"
    if strategy != "Webhook":
        says = "should not be set when strategy is not set to Webhook"
        if client is not None:
            errors.append(forbidden(where, says))
        if versions:
            errors.append(forbidden(f"{path}.conversionReviewVersions", says))
        return errors
    if client is None:
        errors.append(required(where, "required when strategy is set to Webhook"))
    else:
        errors += client_errors(as_mapping(client), where)
    where = f"{path}.conversionReviewVersions"
    if not versions:
        return [*errors, required(where)]
    return errors + review_version_errors(versions, where, known=known_versions)
