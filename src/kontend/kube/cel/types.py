"""The types of CEL, and when a value of one may stand where another is wanted.

Types unify as in cel-go: ``dyn`` fits everything, type parameters are bound as arguments are seen, and ``null`` fits
objects, times and opaque types. The checker owns one mapping of parameters and replaces it when a call type-checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple


class Type(NamedTuple):
    """A type: its kind, its name and its parameters."""

    kind: str
    name: str
    params: tuple[Type, ...] = ()

    def __str__(self) -> str:
        if self.kind == "null":
            return "null"
        if self.kind == "error":
            return "!error!"
        if self.params:
            return f"{self.name}({', '.join(map(str, self.params))})"
        return self.name


def _plain(name: str) -> Type:
    return Type(name, name)


BOOL: Final = _plain("bool")
INT: Final = _plain("int")
UINT: Final = _plain("uint")
DOUBLE: Final = _plain("double")
STRING: Final = _plain("string")
BYTES: Final = _plain("bytes")
NULL: Final = Type("null", "null_type")
DYN: Final = _plain("dyn")
ERROR: Final = _plain("error")
TIMESTAMP: Final = _plain("timestamp")
DURATION: Final = _plain("duration")

Mapping = dict[str, Type]

_NULLABLE: Final = frozenset({"opaque", "struct", "timestamp", "duration"})


def list_of(element: Type) -> Type:
    """Return a list."""
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Return a map."""
    return Type("map", "map", (key, value))


def type_of(inner: Type) -> Type:
    """Return the type of a type."""
    return Type("type", "type", (inner,))


def struct(name: str) -> Type:
    """Return an object with named fields."""
    return Type("struct", name)


def param(name: str) -> Type:
    """Return a type parameter."""
    return Type("param", name)


def opaque(name: str, *params: Type) -> Type:
    """Return a type that only functions know."""
    return Type("opaque", name, params)


def optional_of(inner: Type) -> Type:
    """Return a value that may be missing."""
    return opaque("optional_type", inner)


def unwrap_optional(kind: Type) -> tuple[Type, bool]:
    """Return the type inside an optional, and whether there was one."""
    return (kind.params[0], True) if kind.name == "optional_type" and kind.params else (kind, False)


def assignable(mapping: Mapping, left: Sequence[Type], right: Sequence[Type]) -> Mapping | None:
    """The mapping after the types on the left were given to those on the right, or nothing when they do not fit."""
    copy = dict(mapping)
    if len(left) == len(right) and all(_assign(copy, a, b) for a, b in zip(left, right, strict=True)):
        return copy
    return None


def _assign(mapping: Mapping, left: Type, right: Type) -> bool:
    if right.kind == "param":
        valid, bound = _bind(mapping, left, right)
        if valid:
            return True
        if bound:
            return False
    if left.kind == "param":
        return _bind(mapping, right, left)[0]
    if left.kind in ("dyn", "error") or right.kind in ("dyn", "error"):
        return True
    if left.kind == "null" or right.kind == "null":
        other = right if left.kind == "null" else left
        return other.kind == "null" or other.kind in _NULLABLE
    if left.kind != right.kind or left.name != right.name:
        return False
    if left.kind == "type":
        return True
    return len(left.params) == len(right.params) and all(
        _assign(mapping, a, b) for a, b in zip(left.params, right.params, strict=True)
    )


def _bind(mapping: Mapping, wanted: Type, parameter: Type) -> tuple[bool, bool]:
    """Report whether a parameter may stand for a type, and whether it stood for one before."""
    if wanted == parameter:
        return True, True
    bound = mapping.get(parameter.name)
    if bound is not None:
        if wanted == bound:
            return True, True
        if _assign(mapping, wanted, bound):
            general = wanted if less_specific(wanted, bound) else bound
            if _absent(mapping, parameter, general):
                mapping[parameter.name] = general
            return True, True
        return False, True
    if _absent(mapping, parameter, wanted):
        mapping[parameter.name] = wanted
        return True, False
    return False, False


def less_specific(left: Type, right: Type) -> bool:
    """Report whether the left type is equal to the right one or says less."""
    if left.kind in ("dyn", "param"):
        return True
    if right.kind in ("dyn", "param") or left.kind != right.kind:
        return False
    if left.kind in ("opaque", "list", "map"):
        return (
            left.name == right.name
            and len(left.params) == len(right.params)
            and all(less_specific(a, b) for a, b in zip(left.params, right.params, strict=True))
        )
    return left.kind == "type" or left == right


def _absent(mapping: Mapping, parameter: Type, within: Type) -> bool:
    """Return whether the occurs check: a parameter must not be bound to a type that contains it."""
    if parameter == within:
        return False
    if within.kind == "param":
        bound = mapping.get(within.name)
        return bound is None or _absent(mapping, parameter, bound)
    return all(_absent(mapping, parameter, inner) for inner in within.params)


def substitute(mapping: Mapping, kind: Type, *, free_is_dyn: bool = False) -> Type:
    """Return a type with its parameters replaced by what they are bound to."""
    if kind.kind == "param":
        bound = mapping.get(kind.name)
        if bound is not None:
            return substitute(mapping, bound, free_is_dyn=free_is_dyn)
        return DYN if free_is_dyn else kind
    if not kind.params:
        return kind
    return kind._replace(params=tuple(substitute(mapping, inner, free_is_dyn=free_is_dyn) for inner in kind.params))
