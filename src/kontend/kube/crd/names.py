"""The names, columns, subresources and conversion of a definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kontend.kube.cel.field_paths import FieldPathError, find_field
from kontend.kube.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required, too_many
from kontend.kube.golang.url import UrlError, parse_request_uri
from kontend.kube.meta.name_rules import dns1035_label, dns1123_subdomain
from kontend.kube.schema.openapi_node import Node, as_mapping

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_SELECTABLE: Final = 8
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")


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
    found = [(index, text, ",".join(dns1035_label(str(text)))) for index, text in enumerate(texts or ())]
    return [invalid(f"{path}[{index}]", text, wrong) for index, text, wrong in found if wrong]


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
            found, node = find_field(text, schema, brackets=False)
        except FieldPathError as error:
            errors.append(invalid(where, text, f"is an invalid path: {error}"))
            continue
        if found.split(".")[0] == "metadata":
            errors.append(invalid(where, text, "must not point to fields in metadata"))
        if node.get("type") not in ("string", "boolean", "integer"):
            says = "must point to a field of type string, boolean or integer. "
            says += "Enum string fields and strings with formats are allowed."
            errors.append(invalid(where, text, says))
        if found in seen:
            errors.append(duplicate(where, text))
        seen.add(found)
    if len(seen) > _MOST_SELECTABLE and limited:
        errors.append(too_many(path, len(seen), _MOST_SELECTABLE))
    return errors


def conversion_errors(conversion: Node, path: str, *, known_versions: bool) -> list[FieldError]:
    """The conversion strategy, and the webhook that goes with one of them."""
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
        errors += _client_errors(as_mapping(client), where)
    return errors + _review_version_errors(versions, f"{path}.conversionReviewVersions", known_versions)


def _client_errors(client: Node, path: str) -> list[FieldError]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    return (
        _url_errors(str(url), f"{path}.url")
        if url is not None
        else _service_errors(as_mapping(service), f"{path}.service")
    )


def _url_errors(url: str, path: str) -> list[FieldError]:
    form = "; desired format: https://host[/path]"
    try:
        parsed = parse_request_uri(url.partition("#")[0])
    except UrlError as error:
        return [required(path, f"url must be a valid URL: {error}{form}")]
    errors: list[FieldError] = []
    if parsed.scheme != "https":
        errors.append(invalid(path, parsed.scheme, f"'https' is the only allowed URL scheme{form}"))
    if not parsed.host:
        errors.append(invalid(path, parsed.host, f"host must be specified{form}"))
    user, at, _ = url.partition("//")[2].partition("/")[0].rpartition("@")
    if at:
        errors.append(invalid(path, user, "user information is not permitted in the URL"))
    if "#" in url:
        errors.append(invalid(path, url.partition("#")[2], "fragments are not permitted in the URL"))
    if parsed.query:
        errors.append(invalid(path, parsed.query, "query parameters are not permitted in the URL"))
    return errors


def _service_errors(service: Node, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not service.get("name"):
        errors.append(required(f"{path}.name"))
    if not service.get("namespace"):
        errors.append(required(f"{path}.namespace"))
    port = service.get("port", 443)
    if not isinstance(port, int) or not 1 <= port <= 65535:
        says = "port is not valid: must be between 1 and 65535, inclusive"
        errors.append(invalid(f"{path}.port", port, says))
    where = service.get("path")
    if where is None or where == "/":
        return errors
    text = str(where)
    if not text.startswith("/"):
        errors.append(invalid(f"{path}.path", text, "must start with a '/'"))
    steps = (text[1:-1] if text.endswith("/") and len(text) > 1 else text[1:]).split("/")
    for index, step in enumerate(steps):
        if not step:
            errors.append(invalid(f"{path}.path", text, f"segment[{index}] may not be empty"))
            continue
        errors += [invalid(f"{path}.path", text, f"segment[{index}]: {message}") for message in dns1123_subdomain(step)]
    return errors


def _review_version_errors(versions: list[Any], path: str, known: bool) -> list[FieldError]:
    if not versions:
        return [required(path)]
    errors: list[FieldError] = []
    seen: set[Any] = set()
    for index, version in enumerate(versions):
        if version in seen:
            errors.append(invalid(f"{path}[{index}]", version, "duplicate version"))
            continue
        seen.add(version)
        errors += [invalid(f"{path}[{index}]", version, wrong) for wrong in dns1035_label(str(version))]
    if known and not seen & set(_REVIEW_VERSIONS):
        errors.append(invalid(path, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"))
    return errors
