"""Validation of custom resources, with the texts and in the order of the server.

First the value rules of the schema, then the replica counts of the scale subresource, embedded resources, lists of type
``set`` and ``map``, and last the rules in CEL. Those are skipped when a mistake was found that may make them senseless
(a wrong type, a missing or too long value), and the answer says so.

Everything is compiled once for a schema and kept in its ``validator``. On an update, mistakes that were there before
are tolerated where nothing changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kontend.kube import field_errors
from kontend.kube.field_errors import FieldError, invalid
from kontend.kube.openapi.embedded_resources import compile_embedded
from kontend.kube.openapi.value_validation import compile_checks, value_errors
from kontend.kube.schema.list_types import compile_list_types
from kontend.kube.schema.openapi_node import as_mapping
from kontend.kube.schema.tree import MISSING, Schema

_BLOCKING: Final = frozenset(
    {
        field_errors.NOT_SUPPORTED,
        field_errors.REQUIRED,
        field_errors.TOO_LONG,
        field_errors.TOO_MANY,
        field_errors.TYPE_INVALID,
    }
)
_NOT_CHECKED: Final = invalid(
    "<nil>",
    None,
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
_MOST_REPLICAS: Final = 2**31 - 1


class Validator:
    """The compiled rules of one schema."""

    __slots__ = ("checks", "embedded", "lists", "node", "rules", "status_checks", "status_node")

    def __init__(self, schema: Schema) -> None:
        from kontend.kube.cel.rules import compile_rules  # as long to import as the rest of the server needs to start

        self.node = as_mapping(schema.node)
        self.checks = compile_checks(self.node)
        status = as_mapping(self.node.get("properties")).get("status")
        self.status_node = as_mapping(status)
        self.status_checks = compile_checks(self.status_node) if status is not None else {}
        self.embedded = compile_embedded(schema)
        self.lists = compile_list_types(schema)
        self.rules = compile_rules(schema)


def validator_of(schema: Schema) -> Validator:
    """Return the compiled rules of a schema, made on first use."""
    validator = schema.validator
    if validator is None:
        validator = schema.validator = Validator(schema)
    assert isinstance(validator, Validator)
    return validator


def validate(
    obj: Any,
    schema: Schema,
    old: Any = MISSING,
    *,
    preceding: Sequence[FieldError] = (),
    status: bool = False,
    scale: Mapping[str, Any] | None = None,
    wrong_type: bool = False,
) -> list[FieldError]:
    """All mistakes of an object; with ``old``, of an update to it.

    ``preceding`` are mistakes found before (in ``metadata``): they come first in the answer and may block the rules.
    ``status`` validates a write to the status subresource, which checks the values of ``status`` alone. ``scale`` is
    the scale subresource of the definition. ``wrong_type`` means that ``preceding`` has an error about ``kind`` or
    ``apiVersion``: the values are then not validated.

    >>> from kontend.kube.schema.structural import structural_schema
    >>> spec = {"type": "object", "properties": {"size": {"type": "integer", "minimum": 0}}}
    >>> widget = structural_schema({"type": "object", "properties": {"spec": spec}})
    >>> [str(error) for error in validate({"spec": {"size": -1}}, widget)]
    ['spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0']
    """
    if type(obj) is not dict:
        obj = {}
    compiled = validator_of(schema)
    errors = list(preceding)
    if not wrong_type:
        if status:
            if "status" in obj:
                was = old.get("status", MISSING) if type(old) is dict else MISSING
                errors += value_errors(obj["status"], compiled.status_node, compiled.status_checks, was, "status")
        else:
            errors += value_errors(obj, compiled.node, compiled.checks, old)
        if scale:
            errors += scale_errors(obj, scale, status=status)
    if compiled.embedded is not None and not status:
        compiled.embedded(obj, "", errors)
    if compiled.lists is not None:
        errors += _list_errors(compiled, obj, old)
    if compiled.rules is not None:
        if any(error.type in _BLOCKING for error in errors):
            errors.append(_NOT_CHECKED)
        else:
            from kontend.kube.cel.rules import rule_errors

            errors += rule_errors(compiled.rules, obj, old)
    return errors


def _list_errors(compiled: Validator, obj: Any, old: Any) -> list[FieldError]:
    assert compiled.lists is not None
    errors: list[FieldError] = []
    compiled.lists(obj, None, errors)
    if errors and old is not MISSING:
        # An object that was wrong before may stay wrong anywhere.
        before: list[FieldError] = []
        compiled.lists(old, None, before)
        if before:
            return []
    return errors


def scale_errors(obj: Mapping[str, Any], scale: Mapping[str, Any], *, status: bool = False) -> list[FieldError]:
    """List the errors in the fields that the scale subresource reads (a status write only has those of the status)."""
    errors: list[FieldError] = []
    for name in ("specReplicasPath", "statusReplicasPath"):
        path = scale.get(name)
        if path and not (status and name == "specReplicasPath"):
            errors += _replica_errors(obj, path)
    path = scale.get("labelSelectorPath")
    if path:
        _, wrong = _nested(obj, path, str, "string")
        if wrong:
            errors.append(invalid(path, "", wrong))
    return errors


def _replica_errors(obj: Mapping[str, Any], path: str) -> list[FieldError]:
    count, wrong = _nested(obj, path, int, "int64")
    if wrong:
        return [invalid(path, 0, wrong)]
    if count is None:
        return []
    if count < 0:
        return [invalid(path, count, "should be a non-negative integer")]
    if count > _MOST_REPLICAS:
        return [invalid(path, count, f"should be less than or equal to {_MOST_REPLICAS}")]
    return []


_GO_TYPES: Final = {
    str: "string", int: "int64", float: "float64", bool: "bool", dict: "map[string]interface {}",
    list: "[]interface {}", type(None): "<nil>",
}  # fmt: skip


def _nested(obj: Mapping[str, Any], path: str, kind: type, expected: str) -> tuple[Any, str]:
    """Return the value at a path of field names, or what Go says when it is not there as expected."""
    fields = path.removeprefix(".").split(".")
    value: Any = obj
    for depth, field in enumerate(fields):
        if type(value) is not dict:
            return (
                (None, "") if value is None else (None, _accessor(fields[: depth + 1], value, "map[string]interface{}"))
            )
        if field not in value:
            return None, ""
        value = value[field]
    if type(value) is not kind:
        return None, _accessor(fields, value, expected)
    return value, ""


def _accessor(fields: list[str], value: Any, expected: str) -> str:
    kind = _GO_TYPES.get(type(value), "string")
    return f".{'.'.join(fields)} accessor error: {_go_print(value)} is of the type {kind}, expected {expected}"


def _go_print(value: Any) -> str:
    """``%v`` of decoded JSON."""
    if value is None:
        return "<nil>"
    if type(value) is dict:
        return "map[" + " ".join(f"{key}:{_go_print(value[key])}" for key in sorted(value)) + "]"
    if type(value) is list:
        return "[" + " ".join(map(_go_print, value)) + "]"
    return value if type(value) is str else field_errors.go_value(value)
