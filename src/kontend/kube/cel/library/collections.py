"""Lists, sets, maps and optionals: CEL's extensions and Kubernetes' own list functions."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from kontend.kube.cel.library.functions import FUNCTIONS, add, compare, register, show
from kontend.kube.cel.values import NONE, Duration, EvalError, Optional, UInt, equal, type_name


def _ordered(items: list[Any]) -> list[Any]:
    if len({type(item) for item in items}) > 1:
        raise EvalError("list elements must have the same type")
    return sorted(items, key=cmp_to_key(compare))


@register("isSorted")
def is_sorted(items: list[Any]) -> bool:
    """Report whether no item is greater than the next."""
    return all(compare(left, right) <= 0 for left, right in pairwise(items))


@register("min")
def least(items: list[Any]) -> Any:
    """Return the least item."""
    return _extreme(items, "min", 1)


@register("max")
def greatest(items: list[Any]) -> Any:
    """Return the greatest item."""
    return _extreme(items, "max", -1)


def _extreme(items: list[Any], name: str, worse: int) -> Any:
    if not items:
        raise EvalError(f"{name} called on empty list")
    best = items[0]
    for item in items[1:]:
        if compare(best, item) == worse:
            best = item
    return best


def sum_from(zero: Any) -> Any:
    """Return the sum of a list of one type, whose zero is the sum of nothing."""

    def run(items: list[Any]) -> Any:
        total = zero
        for item in items:
            total = add(total, item)
        return total

    return run


#: The sum of an empty list, by the type of its items.
ZEROS: dict[str, Any] = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": Duration(0)}


@register("sum")
def sum_any(items: list[Any]) -> Any:
    """Return the sum of a list whose type is only known now."""
    return sum_from(items[0])(items[1:]) if items else 0


@register("sort")
def sort(items: list[Any]) -> list[Any]:
    """Return the items in order."""
    return _ordered(items)


@register("@sortByAssociatedKeys")
def sort_by_keys(items: list[Any], keys: list[Any]) -> list[Any]:
    """Return the items in the order of their keys."""
    if len({type(key) for key in keys}) > 1:
        raise EvalError("list elements must have the same type")
    pairs = list(zip(keys, items, strict=True))
    order = cmp_to_key(compare)
    pairs.sort(key=lambda pair: order(pair[0]))
    return [item for _, item in pairs]


@register("slice")
def slice_list(items: list[Any], start: int, end: int) -> list[Any]:
    """Return a part of a list."""
    if start < 0 or end < 0:
        raise EvalError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvalError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise EvalError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return list(items[start:end])


@register("flatten")
def flatten(items: list[Any], depth: int = 1) -> list[Any]:
    """List inside a list, put in their place."""
    if depth < 0:
        raise EvalError("level must be non-negative")
    out: list[Any] = []
    for item in items:
        if isinstance(item, list) and depth > 0:
            out.extend(flatten(item, depth - 1))
        else:
            out.append(item)
    return out


@register("lists.range")
def list_range(count: int) -> list[int]:
    """Return the numbers from zero."""
    return list(range(count))


@register("reverse")
def reverse(items: list[Any]) -> list[Any]:
    """Return the items backwards."""
    return list(reversed(items))


@register("distinct")
def distinct(items: list[Any]) -> list[Any]:
    """Return the items, each once."""
    out: list[Any] = []
    for item in items:
        if not any(equal(item, other) for other in out):
            out.append(item)
    return out


@register("sets.contains")
def set_contains(items: list[Any], wanted: list[Any]) -> bool:
    """Report whether every wanted item is there."""
    return all(any(equal(value, item) for item in items) for value in wanted)


@register("sets.equivalent")
def set_equivalent(left: list[Any], right: list[Any]) -> bool:
    """Report whether both lists have the same items."""
    return set_contains(left, right) and set_contains(right, left)


@register("sets.intersects")
def set_intersects(left: list[Any], right: list[Any]) -> bool:
    """Report whether the lists have an item in common."""
    return any(equal(a, b) for a in left for b in right)


@register("cel.@mapInsert")
def map_insert(target: dict[Any, Any], key: Any, *value: Any) -> dict[Any, Any]:
    """Return a map with one more entry, or with those of another map."""
    new = {key: value[0]} if value else dict(key)
    for name in new:
        if name in target:
            raise EvalError(f"insert failed: key {show(name)} already exists")
    return {**target, **new}


# Optionals.

FUNCTIONS["optional.of"] = Optional
FUNCTIONS["optional.none"] = lambda: NONE


@register("optional.ofNonZeroValue")
def of_non_zero(value: Any) -> Optional:
    """Return an optional that is missing when the value is nothing, empty or zero."""
    if value is None or (isinstance(value, (int, float, str, bytes, list, dict)) and not value):
        return NONE
    return NONE if isinstance(value, Duration) and value.nanoseconds == 0 else Optional(value)


@register("hasValue")
def has_value(value: Any) -> bool:
    """Report whether there is a value."""
    return bool(_optional(value).present)


@register("value")
def value_of(value: Any) -> Any:
    """Return the value."""
    content = _optional(value)
    if not content.present:
        raise EvalError("optional.none() dereference")
    return content.value


@register("unwrapOpt", "optional.unwrap")
def unwrap(items: list[Any]) -> list[Any]:
    """Return the values that are there."""
    return [item.value for item in map(_optional, items) if item.present]


@register("first")
def first(items: list[Any]) -> Optional:
    """Return the first item, if any."""
    return Optional(items[0]) if items else NONE


@register("last")
def last(items: list[Any]) -> Optional:
    """Return the last item, if any."""
    return Optional(items[-1]) if items else NONE


def _optional(value: Any) -> Optional:
    if not isinstance(value, Optional):
        raise EvalError(f"value {type_name(value)} is not optional")
    return value
