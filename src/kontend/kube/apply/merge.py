"""Merging and cutting values along their type: the two things that apply does to an object.

Nothing is changed in place, and what stays as it was is shared with the input: a merge that changes nothing returns the
very object it was given.
"""

from __future__ import annotations

from typing import Any

from kontend.kube.apply.comparison import same
from kontend.kube.apply.field_set import SELF, Tree
from kontend.kube.apply.field_type import FieldType, NoElement
from kontend.kube.apply.typed_value import Violations
from kontend.kube.schema.tree import MISSING


def merge(kind: FieldType, live: Any, patch: Any) -> Any:
    """``live`` with everything that ``patch`` says. Nothing is ever removed.

    A null takes the place of a scalar or of an empty container, but not of fields that others may own.
    """
    if live is MISSING or live is patch:
        return patch
    if kind.map and not kind.map_atomic and (live or patch):
        if type(patch) is dict:
            return _merge_maps(kind, live, patch) if type(live) is dict and live else patch
        if patch is None and type(live) is dict:
            return live
    if kind.list and not kind.list_atomic and (live or patch):
        if type(patch) is list:
            return _merge_lists(kind, live, patch) if type(live) is list and live else patch
        if patch is None and type(live) is list:
            return live
    return live if same(kind, live, patch) else patch


def _merge_maps(kind: FieldType, live: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    fields, values = kind.fields, kind.values
    out = None
    for name, wanted in patch.items():
        below = fields.get(name, values)
        current = live.get(name, MISSING)
        merged = wanted if below is None else merge(below, current, wanted)
        if merged is not current:
            if out is None:
                out = dict(live)
            out[name] = merged
    return live if out is None else out


def _merge_lists(kind: FieldType, live: list[Any], patch: list[Any]) -> list[Any]:
    """Items of both: in the order of ``patch`` where it has a say, the others where they stood among them."""
    item = kind.item
    assert item is not None
    lefts, rights = _elements(kind, live), _elements(kind, patch)
    wanted = dict(zip(rights, patch, strict=True))
    merged_items: dict[str, Any] = {}
    for element, value in zip(lefts, live, strict=True):
        # Items with equal keys are not merged with: the new one takes their place.
        merged_items[element] = MISSING if element in merged_items else value
    shared = iter([element for element in rights if element in merged_items])
    next_shared = next(shared, None)
    merged: set[str] = set()
    out = []
    left = right = 0
    while left < len(lefts) or right < len(rights):
        if left < len(lefts) and right < len(rights):
            element = lefts[left]
            if element == rights[right]:
                merged.add(element)
                out.append(merge(item, merged_items[element], patch[right]))
                left += 1
                right += 1
                next_shared = next(shared, None)
                continue
            if element in wanted and next_shared is not None and next_shared != element:
                left += 1
                continue
        if left < len(lefts):
            element = lefts[left]
            if element not in wanted:
                out.append(live[left])
                left += 1
                continue
            if element in merged:
                left += 1
        if right < len(rights):
            element = rights[right]
            merged.add(element)
            out.append(merge(item, merged_items.get(element, MISSING), patch[right]))
            right += 1
            if next_shared == element:
                next_shared = next(shared, None)
    if len(out) == len(live) and all(new is old for new, old in zip(out, live, strict=True)):
        return live
    return out


def _elements(kind: FieldType, items: list[Any]) -> list[str]:
    elements = []
    for index, item in enumerate(items):
        try:
            elements.append(kind.element(item))
        except NoElement as error:
            raise Violations([("", f"element {index}: {error}")]) from None
    return elements


def remove(kind: FieldType | None, value: Any, fields: Tree) -> Any:
    """``value`` without some fields; a container that is left with nothing becomes null."""
    if not fields or kind is None:
        return value
    if type(value) is dict and kind.map:
        if kind.map_atomic:
            return None
        out = {}
        for name, child in value.items():
            node = fields.get(f"f:{name}")
            if node is None:
                out[name] = child
            elif node and SELF not in node:
                out[name] = remove(kind.fields.get(name, kind.values), child, node)
        return out or None
    if type(value) is list and kind.list:
        if kind.list_atomic:
            return None
        kept = []
        for item in value:
            try:
                node = fields.get(kind.element(item))
            except NoElement:
                node = None
            if node is None:
                kept.append(item)
            elif node and SELF not in node:
                kept.append(remove(kind.item, item, node))
        return kept or None
    return value if kind.scalar and value is not None else None
