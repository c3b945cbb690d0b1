"""JSON Merge Patch (RFC 7396), applied as kube-apiserver does and made as controller-runtime's ``MergeFrom`` does.

Applying shares with the object whatever the patch does not touch, and gives back the very same object when nothing
changes, so that a caller can compare by identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.kube.encoding.json_syntax import MalformedJSON, go_kind
from kontend.kube.encoding.json_text import parse_json
from kontend.kube.encoding.plain_data import plain_bytes
from kontend.kube.errors import BadRequest
from kontend.kube.field_errors import go_quote


def parse_merge_patch(raw: bytes, *, field_validation: str = "Warn") -> tuple[dict[str, Any], list[str]]:
    """Return the patch in a request's body, and the errors of strict field validation in its text (repeated keys).

    >>> parse_merge_patch(b'{"spec": {"size": 1, "size": 2}}')
    ({'spec': {'size': 2}}, ['duplicate field "spec.size"'])
    """
    ignore = field_validation == "Ignore"
    try:
        patch, duplicates = parse_json(raw, find_duplicates=not ignore)
    except MalformedJSON as error:
        raise BadRequest("Invalid JSON Patch" if ignore else f"error decoding patch: {error.message}") from error
    if patch is None or (ignore and not isinstance(patch, (dict, list))):
        raise BadRequest("Invalid JSON Patch")
    if not isinstance(patch, dict):
        wanted = "Go value of type map[string]interface {}"
        raise BadRequest(f"error decoding patch: json: cannot unmarshal {go_kind(patch)} into {wanted}")
    return patch, [f"duplicate field {go_quote(path)}" for path in duplicates]


def apply_merge_patch(obj: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """``obj`` with ``patch`` merged in; neither is changed.

    >>> apply_merge_patch({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": None}, "d": [2]})
    {'a': {'c': 2}, 'd': [2]}
    """
    result: dict[str, Any] | None = None
    for key, change in patch.items():
        if change is None:
            if key in obj:
                if result is None:
                    result = obj.copy()
                del result[key]
            continue
        old = obj.get(key)
        new: Any
        if not isinstance(old, dict):
            new = without_nulls(change)
        elif isinstance(change, dict):
            new = apply_merge_patch(old, change)
        else:
            # Where a list takes an object's place the library keeps the nulls inside the list.
            new = change
        if new is old or (type(new) is type(old) and not isinstance(new, (dict, list)) and new == old):
            continue
        if result is None:
            result = obj.copy()
        result[key] = new
    return obj if result is None else result


def without_nulls(value: Any) -> Any:
    """``value`` without the null fields of its objects; null items of lists stay.

    >>> without_nulls({"a": None, "b": [None, {"c": None}]})
    {'b': [None, {}]}
    """
    if isinstance(value, dict):
        return {key: without_nulls(child) for key, child in value.items() if child is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def merge_patch_diff(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch that turns ``old`` into ``new``: lists are replaced whole, removed keys are null.

    >>> merge_patch_diff({"a": 1, "b": {"c": 1, "d": [1]}}, {"b": {"c": 1, "d": [1, 2]}})
    {'b': {'d': [1, 2]}, 'a': None}
    """
    if old is new:
        return {}
    patch: dict[str, Any] = {}
    for key, value in new.items():
        if key not in old:
            patch[key] = value
            continue
        before = old[key]
        if _matches(before, value):
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            below = merge_patch_diff(before, value)
            if below:
                patch[key] = below
        else:
            patch[key] = value
    for key in old:
        if key not in new:
            patch[key] = None
    return patch


def _matches(one: Any, other: Any) -> bool:
    """Equality of JSON, in which true is not 1 but 1.0 is 1: Go compares all numbers as floats."""
    if one is other:
        return True
    if one != other:
        return False
    if not isinstance(one, (dict, list)):
        return isinstance(one, bool) == isinstance(other, bool)
    if _are_the_same(one, other):
        return True
    # Python takes true for 1.
    if isinstance(one, dict):
        return all(_matches(one[key], other[key]) for key in one)
    return all(map(_matches, one, other))


def _are_the_same(one: Any, other: Any) -> bool:
    """True for values that are the same to the byte; others may match as well."""
    try:
        return plain_bytes(one) == plain_bytes(other)
    except ValueError:  # something in it is not plain
        return False
