"""Values seen through their type: validation against the type, and the fields that they hold.

Three readings of an object as a set of fields, which differ in which inner nodes they count:

- :func:`applied_fields`: what somebody who applies this object means to own;
- :func:`footprint`: everything that comes or goes with a value;
- :func:`with_named_fields`: a set in which a struct's field is there as soon as anything below it is.
"""

from __future__ import annotations

from typing import Any

from kontend.kube.apply.field_set import LEAF, SELF, FieldSet, Tree, element_text, member
from kontend.kube.apply.field_type import ATOMIC, DEDUCED, FieldType, NoElement
from kontend.kube.field_errors import go_float, go_quote


class Violations(ValueError):
    """A value that is not of its type: each place, and the mistake there."""

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        super().__init__(errors)
        self.errors = errors

    def __str__(self) -> str:
        texts = [f"{path}: {message}" if path else message for path, message in self.errors]
        return texts[0] if len(texts) == 1 else "\n".join(["errors:", *(f"  {text}" for text in texts)])


def validate(kind: FieldType | None, value: Any, *, path: str = "", duplicates: bool = False) -> None:
    """Raise :class:`Violations` unless ``value`` is of its type; ``duplicates`` allows repeated list items."""
    errors: list[tuple[str, str]] = []
    _validate(kind, value, path, errors, duplicates)
    if errors:
        # Validation of a map ends at its first undeclared field. kube-apiserver iterates over a Go map that was filled
        # in the order of its keys: it starts anywhere, so with few keys it nearly always meets them in that order.
        errors.clear()
        _validate(kind, _in_key_order(value), path, errors, duplicates)
        raise Violations(errors)


def _in_key_order(value: Any) -> Any:
    if type(value) is dict:
        return {name: _in_key_order(value[name]) for name in sorted(value)}
    return [_in_key_order(item) for item in value] if type(value) is list else value


def _validate(kind: FieldType | None, value: Any, path: str, errors: list[tuple[str, str]], duplicates: bool) -> None:
    if value is None or kind is DEDUCED or kind is ATOMIC:
        return
    if kind is None:
        errors.append((path, "field not declared in schema"))
    elif type(value) is dict and kind.map:
        for name, child in value.items():
            below = kind.fields.get(name, kind.values)
            _validate(below, child, f"{path}.{name}", errors, duplicates)
            if below is None:
                if child is None:
                    errors.append((f"{path}.{name}", "field not declared in schema"))
                return
    elif type(value) is list and kind.list:
        _validate_items(kind, value, path, errors, duplicates)
    elif kind.scalar and ((type(value) is not dict and type(value) is not list) or not kind.map):
        _validate_scalar(kind.scalar, value, path, errors)
    elif kind.map:
        errors.append((path, f"expected map, got &{{{_go_plain(value)}}}"))
    else:
        errors.append((path, f"expected list, got &{{{_go_plain(value)}}}"))


def _validate_items(
    kind: FieldType, items: list[Any], path: str, errors: list[tuple[str, str]], duplicates: bool
) -> None:
    seen = set()
    for index, item in enumerate(items):
        if kind.list_atomic:
            _validate(kind.item, item, f"{path}[{index}]", errors, duplicates)
            continue
        try:
            element = kind.element(item)
        except NoElement as error:
            errors.append((path, f"element {index}: {error}"))
            return
        text = element_text(element)
        if element in seen and not duplicates:
            errors.append((path, f"duplicate entries for key {text}"))
        seen.add(element)
        _validate(kind.item, item, path + text, errors, duplicates)


def _validate_scalar(scalar: str, value: Any, path: str, errors: list[tuple[str, str]]) -> None:
    cls = type(value)
    if scalar == "string":
        if cls is not str:
            errors.append((path, f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"))
    elif scalar == "numeric":
        if cls is not int and cls is not float:
            errors.append((path, f"expected numeric (int or float), got {_GO_TYPES.get(cls, 'interface {}')}"))
    elif scalar == "boolean":
        if cls is not bool:
            errors.append((path, f"expected boolean, got &{{{_go_plain(value)}}}"))
    elif cls is dict or cls is list:
        errors.append((path, f"expected any scalar, got &{{{_go_plain(value)}}}"))


# Fields


def footprint(kind: FieldType | None, value: Any) -> Tree:
    """Every field that comes or goes with ``value``, the inner ones included."""
    if kind is None or not value:
        return LEAF
    cls = type(value)
    if cls is dict and kind.map and not kind.map_atomic:
        out: Tree = {SELF: LEAF}
        fields, values = kind.fields, kind.values
        for name, child in value.items():
            out[f"f:{name}"] = footprint(fields.get(name, values), child)
        return out
    if cls is list and kind.list and not kind.list_atomic:
        out = {SELF: LEAF}
        for element, items in items_by_element(kind, value).items():
            # Items with equal keys are one field.
            out[element] = footprint(kind.item, items[0]) if len(items) == 1 else LEAF
        return out
    return LEAF


def items_by_element(kind: FieldType, items: list[Any]) -> dict[str, list[Any]]:
    """Return the items of a list by their path element, in order. Raises :class:`Violations`."""
    by_element: dict[str, list[Any]] = {}
    element = kind.element
    try:
        for item in items:
            by_element.setdefault(element(item), []).append(item)
    except NoElement as error:
        raise Violations([("", f"element {sum(map(len, by_element.values()))}: {error}")]) from None
    return by_element


def applied_fields(kind: FieldType, value: dict[str, Any]) -> Tree:
    """Return the fields that applying ``value`` claims."""
    return _applied(kind, value) or {}


def _applied(kind: FieldType | None, value: Any) -> Tree | None:
    """Return the node for ``value``; nothing if it holds no field and is none itself."""
    cls = type(value)
    if kind is None:
        return LEAF
    if cls is dict and kind.map and value and not kind.map_atomic:
        out: Tree = {}
        fields, values = kind.fields, kind.values
        for name, child in value.items():
            below = fields.get(name)
            if below is not None:
                node = _applied(below, child)
                if node is not None:
                    out[f"f:{name}"] = node
            else:
                out[f"f:{name}"] = member(_applied(values, child) or LEAF)
        return out or None
    if cls is list and kind.list and not kind.list_atomic:
        out = {}
        for item in value:
            try:
                element = kind.element(item)
            except NoElement:
                continue
            # Items with equal keys are one field.
            out[element] = LEAF if element in out else member(_applied(kind.item, item) or LEAF)
        return out or None
    return LEAF


def with_named_fields(kind: FieldType | None, tree: Tree) -> Tree:
    """Return the set, and every named field below which it has something."""
    if kind is None:
        return tree
    out: Tree = {}
    fields = kind.fields
    for element, node in tree.items():
        if node:
            if element[0] == "f":
                name = element[2:]
                below = fields.get(name)
                node = with_named_fields(below or kind.values, node)
                out[element] = node if below is None else member(node)
            else:
                out[element] = with_named_fields(kind.item if element[0] == "k" else None, node)
        else:
            out[element] = node
    return out


def settle(kind: FieldType, fields: FieldSet) -> FieldSet:
    """Return the set after a change of the schema: an owner of parts of what is one field now owns that field."""
    if fields.settled_for is kind:
        return fields
    tree = _settled(kind, fields.tree)
    settled = fields if tree is fields.tree else FieldSet(tree)
    settled.settled_for = kind
    return settled


def _settled(kind: FieldType, tree: Tree) -> Tree:
    if kind.map:
        if kind.deduced:
            return tree
        if kind.map_atomic:
            return LEAF
    elif kind.scalar or not kind.list:
        return tree
    elif kind.list_atomic:
        return LEAF
    changed: Tree = {}
    for element, node in tree.items():
        if node:
            below = kind.fields.get(element[2:], kind.values) if kind.map else kind.item
            settled = node if below is None else _settled(below, node)
            if settled is not node:
                changed[element] = settled
    return {**tree, **changed} if changed else tree


# Go's formatting of a value

_GO_TYPES = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def _go_plain(value: Any) -> str:
    """``%v`` of a value."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{_go_plain(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(_go_plain, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return go_float(value)
    return "<nil>" if value is None else str(value)


def _go_syntax(value: Any) -> str:
    """``%#v`` of a value."""
    if isinstance(value, dict):
        inner = ", ".join(f"{go_quote(name)}:{_go_syntax(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    if isinstance(value, str):
        return go_quote(value)
    return "interface {}(nil)" if value is None else _go_plain(value)
