"""Config maps and secrets."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.validation.checks import bad, immutable
from kontend.kube.encoding.json_syntax import MalformedJSON, go_kind, read
from kontend.kube.field_errors import FieldError, forbidden, invalid, required, too_long
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import config_map_key

MAX_SIZE: Final = 1024 * 1024
SERVICE_ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
_FROZEN: Final = "field is immutable when `immutable` is set"


def _size(encoded: str) -> int:
    """Return how many bytes a text in base64 stands for."""
    return len(encoded) * 3 // 4 - encoded.count("=", -2)


def _keys(data: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key in data:
        errors += bad(f"{path}[{key}]", key, config_map_key(key))
    return errors


def validate_config_map(obj: Json) -> list[FieldError]:
    """Validate a config map."""
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    errors: list[FieldError] = []
    for key in data:
        errors += bad(f"data[{key}]", key, config_map_key(key))
        if key in binary:
            errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    errors += _keys(binary, "binaryData")
    size = sum(len(value.encode()) for value in data.values()) + sum(_size(value) for value in binary.values())
    # The path of the whole object is an empty name, and prints like this.
    return [*errors, too_long("[]", MAX_SIZE)] if size > MAX_SIZE else errors


def _frozen(new: Json, old: Json, fields: tuple[str, ...]) -> list[FieldError]:
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [forbidden("immutable", _FROZEN)]
    return errors + [forbidden(f, _FROZEN) for f in fields if new.get(f) != old.get(f)]


def validate_config_map_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed config map."""
    return _frozen(new, old, ("data", "binaryData")) + validate_config_map(new)


def validate_secret(obj: Json) -> list[FieldError]:
    """Validate a secret; well-known types have keys that must be there."""
    data, kind = obj.get("data") or {}, obj.get("type", "")
    errors = _keys(data, "data")
    if sum(_size(value or "") for value in data.values()) > MAX_SIZE:
        errors.append(too_long("data", MAX_SIZE))
    if kind == "kubernetes.io/service-account-token":
        annotations = (obj.get("metadata") or {}).get("annotations") or {}
        if not annotations.get(SERVICE_ACCOUNT_NAME):
            errors.append(required(f"metadata.annotations[{SERVICE_ACCOUNT_NAME}]"))
    elif kind == "kubernetes.io/dockercfg":
        errors += _json_key(data, ".dockercfg")
    elif kind == "kubernetes.io/dockerconfigjson":
        errors += _json_key(data, ".dockerconfigjson")
    elif kind == "kubernetes.io/basic-auth":
        if "username" not in data and "password" not in data:
            errors += [required("data[username]"), required("data[password]")]
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            errors.append(required("data[ssh-privatekey]"))
    elif kind == "kubernetes.io/tls":
        errors += [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
    return errors


def _json_key(data: Mapping[str, Any], key: str) -> list[FieldError]:
    path = f"data[{key}]"
    if key not in data:
        return [required(path)]
    why = ""
    try:
        value, _ = read(base64.b64decode(data[key] or ""))
    except MalformedJSON as error:
        why = error.message
    except ValueError:
        why = "unexpected end of JSON input"
    else:
        if value is not None and not isinstance(value, dict):
            why = f"json: cannot unmarshal {go_kind(value)} into Go value of type map[string]interface {{}}"
    return [invalid(path, "<secret contents redacted>", why)] if why else []


def validate_secret_update(new: Json, old: Json) -> list[FieldError]:
    """Validate a changed secret."""
    errors = immutable(new.get("type", ""), old.get("type", ""), "type")
    return errors + _frozen(new, old, ("data",)) + validate_secret(new)
