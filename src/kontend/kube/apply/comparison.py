"""The differences between two objects, as sets of fields.

Most of two versions of an object is the same, so whatever compares equal is never walked; Python compares nested data
quickly. What did change is checked against its type on the way, so an object that does not obey its schema is found.
"""

from __future__ import annotations

from typing import Any

from kontend.kube.apply.field_set import LEAF, Tree, union
from kontend.kube.apply.field_type import FieldType
from kontend.kube.apply.typed_value import Violations, footprint, items_by_element, validate


class Comparison:
    """The fields that were removed, and those that were added or modified."""

    __slots__ = ("_changed", "removed", "touched")

    def __init__(self, removed: Tree, touched: Tree) -> None:
        self.removed = removed
        self.touched = touched
        self._changed: Tree | None = None

    @property
    def changed(self) -> Tree:
        """All of them."""
        if self._changed is None:
            self._changed = union(self.removed, self.touched)
        return self._changed


def compare(kind: FieldType, old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    """Compare ``old`` with ``new``. Raises :class:`Violations` for new values of a wrong type."""
    removed: Tree = {}
    touched: Tree = {}
    if old is not new:
        _compare_maps(kind, old, new, removed, touched, "")
    return Comparison(removed, touched)


def same(kind: FieldType, a: Any, b: Any) -> bool:
    """Report whether two values of a type are equal."""
    return a is b or (a == b and (not kind.loose or _same_types(kind, a, b)))


def _same_types(kind: FieldType | None, a: Any, b: Any) -> bool:
    """Report whether values that Python finds equal have the same types: ``True == 1`` in Python."""
    if kind is None or not kind.loose:
        return True
    if type(a) is dict:
        fields, values = kind.fields, kind.values
        if not all(_same_types(below, a[name], b[name]) for name, below in kind.loose_fields if name in a):
            return False
        if values is None or not values.loose:
            return True
        return all(_same_types(values, child, b[name]) for name, child in a.items() if name not in fields)
    if type(a) is list:
        return all(_same_types(kind.item, left, right) for left, right in zip(a, b, strict=True))
    return (type(a) is bool) == (type(b) is bool)


def _compare_maps(
    kind: FieldType, old: dict[str, Any], new: dict[str, Any], removed: Tree, touched: Tree, path: str
) -> None:
    fields, values = kind.fields, kind.values
    for name, before in old.items():
        below = fields.get(name, values)
        if name not in new:
            removed[f"f:{name}"] = footprint(below, before)
            continue
        after = new[name]
        if before is after or (before == after and (below is None or not below.loose or same(below, before, after))):
            continue
        if below is None:
            raise Violations([(f"{path}.{name}", "field not declared in schema")])
        _compare(below, before, after, f"f:{name}", removed, touched, f"{path}.{name}")
    for name, after in new.items():
        if name not in old:
            below = fields.get(name, values)
            validate(below, after, path=f"{path}.{name}", duplicates=True)
            if below is None:
                raise Violations([(f"{path}.{name}", "field not declared in schema")])
            touched[f"f:{name}"] = footprint(below, after)


def _compare_lists(kind: FieldType, old: list[Any], new: list[Any], removed: Tree, touched: Tree, path: str) -> None:
    item = kind.item
    assert item is not None
    before, after = items_by_element(kind, old), items_by_element(kind, new)
    for element, lefts in before.items():
        rights = after.get(element)
        if rights is None:
            removed[element] = footprint(item, lefts[0]) if len(lefts) == 1 else LEAF
        elif len(lefts) == 1 and len(rights) == 1:
            if not same(item, lefts[0], rights[0]):
                _compare(item, lefts[0], rights[0], element, removed, touched, path)
        elif len(lefts) > 1 and len(rights) > 1:
            if not same(kind, lefts, rights):
                validate(kind, rights, path=path, duplicates=True)
                touched[element] = LEAF
        elif len(lefts) > 1:
            # Several became one: that one is new, and the mark that stood for all of them goes.
            validate(item, rights[0], path=path, duplicates=True)
            touched[element] = footprint(item, rights[0])
            removed[element] = LEAF
        else:
            validate(kind, rights, path=path, duplicates=True)
            removed[element] = footprint(item, lefts[0])
            touched[element] = LEAF
    for element, rights in after.items():
        if element not in before:
            validate(kind, rights, path=path, duplicates=True)
            touched[element] = footprint(item, rights[0]) if len(rights) == 1 else LEAF


def _compare(kind: FieldType, old: Any, new: Any, element: str, removed: Tree, touched: Tree, path: str) -> None:
    """Compare two different values; ``removed`` and ``touched`` are those of the node that holds them."""
    if kind.map and not kind.map_atomic and _both_are(dict, old, new):
        _descend(_compare_maps, kind, old or {}, new or {}, element, removed, touched, path)
    elif kind.list and not kind.list_atomic and _both_are(list, old, new):
        _descend(_compare_lists, kind, old or [], new or [], element, removed, touched, path)
    else:
        validate(kind, new, path=path, duplicates=True)
        # Where anything may stand, a map can give way to a scalar or the other way round: the fields of the map come or
        # go, and the place itself is modified.
        gone, come = footprint(kind, old), footprint(kind, new)
        if gone and type(old) is not type(new):
            below = {name: node for name, node in gone.items() if name != "."}
            if below:
                removed[element] = below
        if come and type(old) is not type(new):
            touched[element] = come
        else:
            touched[element] = LEAF


def _both_are(cls: type, old: Any, new: Any) -> bool:
    """Report whether both are of a container type (or null), and at least one of them holds something."""
    return bool(old or new) and (old is None or type(old) is cls) and (new is None or type(new) is cls)


def _descend(
    walk: Any, kind: FieldType, old: Any, new: Any, element: str, removed: Tree, touched: Tree, path: str
) -> None:
    gone: Tree = {}
    come: Tree = {}
    walk(kind, old, new, gone, come, path)
    if gone:
        removed[element] = gone
    if come:
        touched[element] = come
