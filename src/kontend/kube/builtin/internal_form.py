"""Objects in the server's internal form, for messages that print them.

:func:`shown_as` is a value as it stands in an error message, :func:`difference` what changed between two of them, as
the server prints it: a unified diff of indented JSON.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from kontend.kube.builtin import internal_group_types, internal_types
from kontend.kube.field_errors import Verbatim
from kontend.kube.json_types import Json, JsonView

_TYPES: Mapping[str, str] = {**internal_types.TYPES, **internal_group_types.TYPES}
_ZERO: Mapping[str, Any] = {"s": "", "n": 0, "b": False, "q": "0", "i": 0, "t": None, "r": None}
#: These are fields of the pod in the API, but of its security context inside.
_HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


class _Field(NamedTuple):
    name: str
    key: str
    shape: str  # "*", "[]", "{}" or nothing
    type: str
    omit_empty: bool
    embedded: bool


@cache
def _fields(type_name: str) -> tuple[_Field, ...]:
    fields = []
    for word in _TYPES[type_name].split():
        if word.startswith("<"):
            fields.append(_Field("", "", "", word[1:-1], omit_empty=False, embedded=True))
            continue
        names, _, kind = word.partition(":")
        name, _, key = names.partition("=")
        omit_empty = kind.startswith("?")
        kind = kind.removeprefix("?")
        shape = next((prefix for prefix in ("*", "[]", "{}") if kind.startswith(prefix)), "")
        key = key or name[0].lower() + name[1:]
        fields.append(_Field(name, key, shape, kind.removeprefix(shape), omit_empty, embedded=False))
    return tuple(fields)


def internal(type_name: str, value: Any) -> Any:
    """Return the value with the names, the order and the zero values of the internal type.

    >>> internal("EnvVar", {"name": "A"})
    {'Name': 'A', 'Value': '', 'ValueFrom': None}
    """
    if type_name in _ZERO:
        return _ZERO[type_name] if value is None else value
    given = value or {}
    if type_name == "PodSpec":
        inside = {field: given[field] for field in _HOST_FIELDS if field in given}
        given = {**given, "securityContext": {**(given.get("securityContext") or {}), **inside}}
    shown: Json = {}
    for field in _fields(type_name):
        if field.embedded:
            # Metadata is a field in the API, but embedded inside; all else that is embedded is so in both.
            shown.update(internal(field.type, given.get("metadata") if field.type == "ObjectMeta" else given))
            continue
        inner = given.get(field.key)
        if field.omit_empty and not inner and not (field.shape == "*" and inner is not None):
            continue
        shown[field.name] = _shaped(field, inner)
    return shown


def _shaped(field: _Field, value: Any) -> Any:
    if not field.shape:
        return internal(field.type, value)
    if value is None:
        return None
    if field.shape == "[]":
        return [internal(field.type, item) for item in value]
    if field.shape == "{}":
        return {key: internal(field.type, value[key]) for key in sorted(value)} or None
    return internal(field.type, value)


def external(type_name: str, shown: JsonView) -> Json:
    """Return the API's form of a value in internal form, without what is null.

    >>> external("EnvVar", {"Name": "A", "ValueFrom": None})
    {'name': 'A'}
    """
    plain: Json = {}
    for field in _fields(type_name):
        value = shown.get(field.name)
        if value is None:
            continue
        if field.type in _ZERO:
            plain[field.key] = value
        elif field.shape == "[]":
            plain[field.key] = [external(field.type, item) for item in value]
        else:
            plain[field.key] = external(field.type, value)
    return plain


def _escaped(text: str) -> str:
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def shown_as(type_name: str, value: Any, *, pointer: bool = True) -> Verbatim:
    """Return the value as an error message prints it.

    >>> str(shown_as("LabelSelector", {"matchExpressions": [], "matchLabels": {"app": "d"}}))
    '{"matchLabels":{"app":"d"}}'
    """
    shown = None if value is None and pointer else internal(type_name, value)
    return Verbatim(_escaped(json.dumps(shown, ensure_ascii=False, separators=(",", ":"))))


def difference(type_name: str, old: Any, new: Any) -> str:
    """Return the diff from the old value to the new one."""
    texts = [_escaped(json.dumps(internal(type_name, version), ensure_ascii=False, indent=1)) for version in (old, new)]
    before, after = ([f"{line}\n" for line in text.split("\n")] for text in texts)
    # The first two lines name files, and there are none.
    return "".join(list(difflib.unified_diff(before, after))[2:])
