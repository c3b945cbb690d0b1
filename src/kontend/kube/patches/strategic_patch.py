"""Strategic merge patch: a merge patch that knows which lists are merged and by which key.

The schema says for each list whether a patch replaces it or merges into it, and which field identifies an item. The
patch itself can carry directives: ``$patch: replace`` and ``$patch: delete``, ``$setElementOrder/x``,
``$deleteFromPrimitiveList/x`` and ``$retainKeys``. Where merged items end up follows the server: items of the patch
keep their order, items that only the object has keep theirs, and a new item comes before what it has no known place
behind.

Objects are never changed in place. The patch is, where the library of the server changes it: messages about the
result show what is left of it. Errors have the texts and codes of the server: a directive that is malformed is a bad
request, a patch that does not fit the object an internal error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kontend.kube.errors import BadRequest
from kontend.kube.json_types import Json
from kontend.kube.patches.strategic_rules import (
    DELETIONS,
    MARKER,
    ORDER,
    RETAIN_KEYS,
    are_maps,
    bad_type,
    check_merge_keys,
    failure,
    field_of,
    go_kind_of,
    go_print,
    go_type_of,
    list_field_of,
    no_merge_key,
    percent_s,
    same,
    strategy_of,
)
from kontend.kube.schema.tree import Schema

_BAD_PRIMITIVE_LIST: Final = "invalid patch format of primitive list"
_BAD_RETAIN_KEYS: Final = "invalid patch format of retainKeys"
_BAD_ORDER: Final = "invalid patch format of setElementOrder list"


def apply_strategic_patch(obj: Json, patch: Json, schema: Schema) -> Json:
    """``obj`` with ``patch`` merged in, as a new object that shares what did not change, and parts of the patch.

    The patch loses the directives that were carried out.

    >>> item = Schema("object", properties={"name": Schema("string"), "image": Schema("string")})
    >>> items = Schema("array", items=item, patch_strategy="merge", patch_merge_key="name")
    >>> spec = Schema("object", properties={"containers": items})
    >>> pod = {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]}
    >>> apply_strategic_patch(pod, {"containers": [{"name": "b", "image": "b:2"}]}, spec)["containers"][1]["image"]
    'b:2'
    """
    return _merge_map(obj, patch, schema)


# Maps


def _merge_map(original: Mapping[str, Any], patch: Json, schema: Schema | None) -> Json:
    if MARKER in patch:
        directive = patch[MARKER]
        if directive == "replace":
            del patch[MARKER]
            return patch
        if directive == "delete":
            return {}
        raise failure(f"unknown patch type: {percent_s(directive)} in map: {go_print(patch)}")
    result = dict(original)
    if RETAIN_KEYS in patch:
        _retain_keys(result, patch)
    for key in [key for key in patch if key.startswith(ORDER)]:
        _apply_order(result, patch, key, schema)
    for key, value in patch.items():
        deleting = key.startswith(DELETIONS)
        if deleting:
            key = _list_of(key, DELETIONS, _BAD_PRIMITIVE_LIST)
        if value is None:
            result.pop(key, None)
            continue
        old: Any = result.get(key)
        if key not in result or go_type_of(old) != go_type_of(value):
            if not deleting:
                _set_new(result, key, value)
        elif isinstance(value, dict):
            field = field_of(schema, key)
            if strategy_of(field)[1] == "replace":
                result[key] = value
            else:
                result[key] = _merge_map(old, value, field)
        elif isinstance(value, list):
            field = list_field_of(schema, key)
            if deleting or strategy_of(field)[1] == "merge":
                result[key] = _merge_list(old, value, field, deleting=deleting)
            else:
                result[key] = value
        else:
            result[key] = value
    return result


def _set_new(result: Json, key: str, value: Any) -> None:
    """Put in what the object did not have: without nulls, and without the parts that are only directives."""
    _discard_nulls(value)
    clean, keep = _without_directives(value)
    if keep:
        result[key] = clean
    else:
        result.pop(key, None)


def _discard_nulls(value: Any) -> None:
    """Take away the null fields of objects; null items of lists stay."""
    if isinstance(value, dict):
        for key, child in list(value.items()):
            if child is None:
                del value[key]
            else:
                _discard_nulls(child)
    elif isinstance(value, list):
        for item in value:
            _discard_nulls(item)


def _without_directives(value: Any) -> tuple[Any, bool]:
    if isinstance(value, dict):
        if MARKER in value:
            return None, False
        for key, child in list(value.items()):
            value[key], keep = _without_directives(child)
            if not keep:
                del value[key]
        return value, True
    if isinstance(value, list):
        return [clean for clean, keep in map(_without_directives, value) if keep], True
    return value, True


def _retain_keys(result: Json, patch: Json) -> None:
    retained = patch.pop(RETAIN_KEYS)
    if not isinstance(retained, list):
        raise BadRequest(_BAD_RETAIN_KEYS)
    keys = {key for key in retained if isinstance(key, str)}
    for key, value in patch.items():
        if value is not None and not key.startswith((DELETIONS, ORDER)) and key not in keys:
            raise BadRequest(_BAD_RETAIN_KEYS)
    for key in [key for key in result if key not in keys]:
        del result[key]


# Lists


def _merge_list(original: list[Any], patch: list[Any], field: Schema, *, deleting: bool = False) -> list[Any]:
    if not original and not patch:
        return original
    key = field.patch_merge_key
    maps = are_maps(original, patch)
    if not maps:
        if deleting:
            return [item for item in original if not _contains(patch, item)]
        merged = _unique([*original, *patch])
    else:
        if not key:
            raise failure(f"cannot merge lists without merge key for {go_kind_of(field.items)}")
        original, patch = _apply_item_directives(original, patch, key)
        merged = _merge_items(original, patch, key, field.items)
    from_patch, from_server = _partition(merged, patch, key)
    return _interleave(from_patch, from_server, patch, original, key if maps else None)


def _apply_item_directives(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Carries out the ``$patch`` items of a list; what is left are ordinary items."""
    ordinary: list[Any] = []
    replace = False
    for item in patch:
        if MARKER not in item:
            ordinary.append(item)
            continue
        directive = item[MARKER]
        if directive == "delete":
            if key not in item:
                raise no_merge_key(item, key)
            _check_maps(original)
            original = [element for element in original if key not in element or not same(element[key], item[key])]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise failure("merging lists cannot yet be specified in the patch")
        else:
            raise failure(f"unknown patch type: {percent_s(directive)} in map: {go_print(item)}")
    return (ordinary, []) if replace else (original, ordinary)


def _merge_items(original: list[Any], patch: list[Any], key: str, schema: Schema | None) -> list[Any]:
    merged = list(original)
    for item in patch:
        if key not in item:
            raise no_merge_key(item, key)
        for index, element in enumerate(merged):
            if key in element and same(element[key], item[key]):
                merged[index] = _merge_map(element, item, schema)
                break
        else:
            merged.append(item)
    return merged


def _apply_order(result: Json, patch: Json, directive: str, schema: Schema | None) -> None:
    """Merge one list and put it in the order that ``$setElementOrder`` asks for; ``patch`` is done with it then."""
    order = patch.pop(directive)
    if not isinstance(order, list):
        raise bad_type([], order)
    name = _list_of(directive, ORDER, _BAD_ORDER)
    original, change = result.get(name, []), patch.get(name, [])
    for value in (original, change):
        if not isinstance(value, list):
            raise bad_type([], value)
    field = list_field_of(schema, name)
    key = field.patch_merge_key
    _check_order(change, order, key)
    if name in result and name in patch:
        merged = _merge_list(original, change, field) if strategy_of(field)[1] == "merge" else change
    elif name in patch:
        merged = _without_directives(change)[0]
    elif name in result:
        merged = original
    else:
        return
    from_patch, from_server = _partition(merged, order, key)
    if not original and not change:
        raise failure("no elements in any of the given slices")
    maps = are_maps(original, change)
    result[name] = _interleave(from_patch, from_server, order, original, key if maps else None)
    patch.pop(name, None)


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """The items of the patch must stand in the order list, one after the other."""
    if not order or not patch:
        return
    items = patch
    if key:
        for item in patch:
            if not isinstance(item, dict):
                raise bad_type({}, item)
        items = [item for item in patch if item.get(MARKER) != "delete"]
    at = 0
    for wanted in order:
        while at < len(items) and isinstance(items[at], dict) and MARKER in items[at]:
            at += 1
        if at >= len(items):
            return
        if _same_item(items[at], wanted, key):
            at += 1
    if at < len(items):
        raise failure(f"The order in patch list:\n{go_print(patch)}\n doesn't match {ORDER} list:\n{go_print(order)}\n")


def _partition(merged: list[Any], chosen: Sequence[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Return the items that ``chosen`` has as well, and the others."""
    if key:
        for item in merged:
            if not isinstance(item, dict):
                raise bad_type({}, item)
            if key not in item:
                raise no_merge_key(item, key)
        _check_maps(chosen)
        values = [item[key] for item in chosen if key in item]
    else:
        values = list(chosen)
    inside: list[Any] = []
    outside: list[Any] = []
    for item in merged:
        (inside if _contains(values, item[key] if key else item) else outside).append(item)
    return inside, outside


def _interleave(
    from_patch: list[Any], from_server: list[Any], patch_order: list[Any], server_order: list[Any], key: str | None
) -> list[Any]:
    """Both lists in one, each in its own order; where the server's order knows both, the earlier one comes first.

    Items are identified by their ``key``, scalars (without a key) by their value.
    """
    if key is not None:
        for side in (from_patch, patch_order, from_server, server_order):
            check_merge_keys(side, key)

    def place(item: Any, order: list[Any]) -> int:
        value = item if key is None else item[key]
        for index, element in enumerate(order):
            if same(element if key is None else element[key], value):
                return index
        return -1

    from_patch = sorted(from_patch, key=lambda item: place(item, patch_order))
    from_server = sorted(from_server, key=lambda item: place(item, server_order))
    if not from_server:
        return from_patch
    result: list[Any] = []
    at = 0
    for item in from_patch:
        known = place(item, server_order)
        while at < len(from_server) and 0 <= place(from_server[at], server_order) < known:
            result.append(from_server[at])
            at += 1
        result.append(item)
    return result + from_server[at:]


def _unique(items: list[Any]) -> list[Any]:
    unique: list[Any] = []
    for item in items:
        if not _contains(unique, item):
            unique.append(item)
    return unique


def _contains(items: Sequence[Any], wanted: Any) -> bool:
    return any(same(item, wanted) for item in items)


def _same_item(one: Any, other: Any, key: str) -> bool:
    if not key:
        return same(one, other)
    check_merge_keys([one, other], key)
    return same(one[key], other[key])


def _check_maps(items: Sequence[Any]) -> None:
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise failure(f"value for key {index} is not a map")


def _list_of(directive: str, prefix: str, complaint: str) -> str:
    """Return the field that a directive such as ``$setElementOrder/containers`` is about."""
    start, slash, name = directive.partition("/")
    if not slash or start != prefix:
        raise BadRequest(complaint)
    return name
