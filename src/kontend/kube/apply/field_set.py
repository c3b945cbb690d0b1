"""Sets of fields, in the form that ``managedFields`` has.

A path through an object is a chain of elements, each written as a string: ``f:name`` for a field, ``k:{"port":80}`` for
the list item with these keys, ``v:"x"`` for a member of a set, ``i:0`` for a position. A set of paths is a tree of
them, and that tree *is* the JSON of ``fieldsV1``::

    {"f:spec": {"f:size": {}, "f:ports": {'k:{"port":80}': {".": {}, "f:name": {}}}}}

An empty node is a member of the set; a node with others below it is a member only if it holds ``"."``. So reading a
set is reading JSON, and the algebra below is a few short recursions. Trees are never changed once built: the functions
share whatever they can between their arguments and their results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

import orjson

from kontend.kube.field_errors import go_float, go_json, go_quote
from kontend.kube.golang.strconv import whole_number

#: A set of paths. The values are trees again.
Tree: TypeAlias = dict[str, Any]

SELF: Final = "."
#: The tree of a member with nothing below it. Shared, so never to be changed.
LEAF: Final[Tree] = {}
EMPTY: Final[Tree] = {}

_INDEX: Final = re.compile(r"[-+]?[0-9]+")


class MalformedFields(ValueError):
    """A tree that is not a set of fields."""


class FieldSet:
    """A set of fields that is kept: its tree and its canonical JSON. Equal sets are usually one object.

    >>> FieldSet({"f:spec": {"f:size": {}}}) is FieldSet({"f:spec": {"f:size": {}}})
    True
    """

    __slots__ = ("__weakref__", "json", "settled_for", "tree")

    tree: Tree
    json: bytes
    #: The type for which this set is known to need no change (see ``typed.settle``).
    settled_for: object

    def __new__(cls, tree: Tree) -> FieldSet:
        data = _canonical(tree)
        known = _interned.get(data)
        if known is not None:
            return known
        self = object.__new__(cls)
        self.tree = tree
        self.json = data
        self.settled_for = None
        return _interned.setdefault(data, self)

    @classmethod
    def of_paths(cls, paths: Iterable[Sequence[str]]) -> FieldSet:
        """Return the set of some fields, each named by the fields on the way to it.

        >>> FieldSet.of_paths([("status",), ("metadata", "labels")]).tree
        {'f:status': {}, 'f:metadata': {'f:labels': {}}}
        """
        tree: Tree = EMPTY
        for path in paths:
            one: Tree = LEAF
            for name in reversed(path):
                one = {f"f:{name}": one}
            tree = union(tree, one)
        return cls(tree)

    @classmethod
    def parse(cls, raw: Any) -> FieldSet:
        """Return the set that a client sent, in canonical form. Raises :class:`MalformedFields`."""
        # Mostly clients send back what they got, and that is known.
        return _interned.get(_canonical(raw)) or cls(_parsed(raw))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, FieldSet) and self.json == other.json)

    def __hash__(self) -> int:
        return hash(self.json)

    def __reduce__(self) -> tuple[type[FieldSet], tuple[Tree]]:
        return FieldSet, (self.tree,)

    def __bool__(self) -> bool:
        return bool(self.tree)

    def __repr__(self) -> str:
        return f"FieldSet({self.json.decode()})"


_interned: WeakValueDictionary[bytes, FieldSet] = WeakValueDictionary()


def _canonical(tree: Any) -> bytes:
    try:
        return orjson.dumps(tree, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise MalformedFields(str(error)) from None


# Algebra


def union(a: Tree, b: Tree) -> Tree:
    """Return the union of both sets."""
    if a is b or not b:
        return a
    if not a:
        return b
    out = dict(a)
    for key, right in b.items():
        left = out.get(key)
        if left is None:
            out[key] = right
        elif not left:
            out[key] = member(right)
        elif not right:
            out[key] = member(left)
        elif left is not right:
            out[key] = union(left, right)
    return out


def difference(a: Tree, b: Tree) -> Tree:
    """Return ``a`` without ``b``, path by path: removing a node keeps the nodes below it."""
    out = None
    for key, right in b.items():
        left = a.get(key)
        if left is None:
            continue
        if not left:
            if right and SELF not in right:
                continue
            rest = None
        else:
            rest = difference(left, right) if right else _without_self(left)
            if rest is left:
                continue
        if out is None:
            out = dict(a)
        if rest:
            out[key] = _tidy(rest)
        else:
            del out[key]
    return a if out is None else out


def recursive_difference(a: Tree, b: Tree) -> Tree:
    """Return ``a`` without the members of ``b`` and everything below them."""
    out = None
    for key, right in b.items():
        left = a.get(key)
        if left is None:
            continue
        rest = None
        if right and SELF not in right:
            rest = recursive_difference(left, right)
            if rest is left:
                continue
        if out is None:
            out = dict(a)
        if rest:
            out[key] = _tidy(rest)
        else:
            del out[key]
    return a if out is None else out


def intersection(a: Tree, b: Tree) -> Tree:
    """Return the intersection of both sets."""
    if a is b:
        return a
    if len(b) < len(a):
        a, b = b, a
    out = {}
    for key, left in a.items():
        right = b.get(key)
        if right is None:
            continue
        both = intersection(left, right) if left and right else LEAF
        if is_member(left) and is_member(right):
            out[key] = _tidy(member(both))
        elif both:
            out[key] = both
    return out


def contains(a: Tree, b: Tree) -> bool:
    """Report whether all of ``b`` is in ``a``."""
    return a is b or not difference(b, a)


def is_member(tree: Tree | None) -> bool:
    """Report whether a node (or no node) stands for a path that is in the set itself."""
    return tree is not None and (not tree or SELF in tree)


def member(tree: Tree) -> Tree:
    """Return the node, made a member of its set."""
    return tree if not tree or SELF in tree else {SELF: LEAF, **tree}


def _without_self(tree: Tree) -> Tree:
    return {key: below for key, below in tree.items() if key != SELF} if SELF in tree else tree


def _tidy(tree: Tree) -> Tree:
    """Return a member with nothing left below it is a leaf."""
    return LEAF if len(tree) == 1 and SELF in tree else tree


# Elements


@lru_cache(maxsize=65536, typed=True)
def scalar_json(value: str | float | bool | None) -> str:
    """Return a scalar as it stands in an element, in Go's JSON."""
    try:
        if isinstance(value, float):
            return go_float(value)
        return go_json(value).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    except (TypeError, ValueError, OverflowError) as error:
        raise MalformedFields(str(error)) from None


def value_json(value: Any) -> str:
    """Any value as it stands in an element."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{scalar_json(key)}:{value_json(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(value_json(item) for item in value) + "]"
    return scalar_json(value)


def _parsed(raw: Any) -> Tree:
    if not isinstance(raw, dict):
        raise MalformedFields(f"expected an object, got {type(raw).__name__}")
    out: Tree = {}
    for text, below in raw.items():
        if text == SELF:
            out[SELF] = LEAF
            continue
        element = parse_element(text)
        # A later version of Kubernetes may know this kind of element; 1.35 drops it.
        if element is not None:
            out[element] = _tidy(_parsed(below))
    return out


@lru_cache(maxsize=65536)
def parse_element(text: str) -> str | None:
    """Return the canonical form of an element; nothing if it is of an unknown kind.

    >>> parse_element('k:{"protocol": "TCP", "port": 80}')
    'k:{"port":80,"protocol":"TCP"}'
    """
    if len(text) < 2:
        raise MalformedFields("key must be 2 characters long:")
    if text[1] != ":":
        raise MalformedFields(f"missing colon: {text}")
    kind, rest = text[0], text[2:]
    if kind == "f":
        return text
    if kind == "i":
        if not _INDEX.fullmatch(rest):
            raise MalformedFields(f"strconv.Atoi: parsing {go_quote(rest)}: invalid syntax")
        index = whole_number(rest)
        if not -(2**63) <= index < 2**63:
            raise MalformedFields(f"strconv.Atoi: parsing {go_quote(rest)}: value out of range")
        return f"i:{index}"
    if kind not in "kv":
        return None
    try:
        value = orjson.loads(rest)
    except orjson.JSONDecodeError as error:
        raise MalformedFields(str(error)) from None
    if kind == "k" and not isinstance(value, dict):
        raise MalformedFields(f"expected an object of keys, got {rest}")
    return f"{kind}:{value_json(value)}"


@lru_cache(maxsize=65536)
def element_text(element: str) -> str:
    """Return an element as messages show it.

    >>> [element_text(each) for each in ("f:spec", 'k:{"port":80,"protocol":"TCP"}', 'v:"x"', "i:0")]
    ['.spec', '[port=80,protocol="TCP"]', '[="x"]', '[0]']
    """
    kind, rest = element[0], element[2:]
    if kind == "f":
        return f".{rest}"
    if kind == "i":
        return f"[{rest}]"
    value = orjson.loads(rest)
    if kind == "v":
        return f"[={_value_text(value)}]"
    return "[" + ",".join(f"{name}={_value_text(child)}" for name, child in value.items()) + "]"


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_value_text, value)) + "]"
    if isinstance(value, dict):
        return "".join(f"{name}={_value_text(child)}" for name, child in value.items())
    return scalar_json(value)


def paths(tree: Tree, prefix: str = "") -> Iterator[str]:
    """Every member as messages show it, in the server's order: those of a level before those below it.

    >>> list(paths({"f:spec": {"f:b": {"f:c": {}}, "f:z": {}, "f:a": {}}}))
    ['.spec.a', '.spec.z', '.spec.b.c']
    """
    elements = sorted((key for key in tree if key != SELF), key=_order)
    for element in elements:
        if is_member(tree[element]):
            yield prefix + element_text(element)
    for element in elements:
        if tree[element]:
            yield from paths(tree[element], prefix + element_text(element))


def _order(element: str) -> tuple[int, Any]:
    kind, rest = element[0], element[2:]
    if kind == "f":
        return 0, rest
    if kind == "k":
        return 1, [(name, _value_order(value)) for name, value in orjson.loads(rest).items()]
    return (2, _value_order(orjson.loads(rest))) if kind == "v" else (3, int(rest))


def _value_order(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, (int, float)):
        return 0, value
    return (1, value) if isinstance(value, str) else (3, value_json(value))
