"""Field ownership after a write that is not an apply: create, update, and the other patches.

The server compares the object before and after. The previous owner of a field that changed loses it; the writer owns
the fields that it added or modified. A manager that owns nothing any more is forgotten. Fields that the server itself
sets have no owner, entries of other versions are judged with their own schema, and a client may edit or reset the
list by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import Any, Final, TypeAlias

from kontend.kube.apply.comparison import Comparison, compare
from kontend.kube.apply.field_set import (
    EMPTY,
    FieldSet,
    MalformedFields,
    Tree,
    difference,
    recursive_difference,
    union,
)
from kontend.kube.apply.field_type import FieldType, type_of
from kontend.kube.apply.managed_fields import (
    Identity,
    InvalidManagedFields,
    ManagedEntry,
    ManagedFields,
    cap_updates,
    decode,
    in_order,
    is_reset,
    managed_entry,
)
from kontend.kube.apply.typed_value import Violations, settle, validate
from kontend.kube.schema.tree import MISSING, Schema

#: The schema of the kind at another version, or nothing if that version is not known.
SchemaAt: TypeAlias = Callable[[str], Schema | None] | Mapping[str, Schema]

#: Converts an object from one version to another.
ConvertTo: TypeAlias = Callable[[dict[str, Any], str, str], dict[str, Any]]

#: Fields that the server sets, without an owner.
SERVER_FIELDS: Final = FieldSet.of_paths(
    [("apiVersion",), ("kind",), ("metadata",)]
    + [
        ("metadata", name)
        for name in (
            "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
            "resourceVersion",
        )
    ]
)  # fmt: skip


class CannotConvert(ValueError):
    """An object that cannot be seen as one of another version, in the server's words."""


class Versions:
    """The types of one kind at all its versions, and objects as each of them sees them."""

    def __init__(
        self,
        schema: Schema,
        api_version: str,
        schema_at: SchemaAt | None,
        reset: Callable[[Tree, str], Tree],
        conversion: ConvertTo | None = None,
    ) -> None:
        self.api_version = api_version
        self.reset = reset
        self._conversion = conversion
        self._custom = not schema.go_type
        self._lookup = schema_at.get if isinstance(schema_at, Mapping) else schema_at
        #: The type at the version of the request.
        self.root = type_of(schema)
        self._types: dict[str, FieldType | None] = {api_version: self.root}

    def type_at(self, api_version: str) -> FieldType | None:
        """Return the type at a version; nothing where a built-in kind does not have it any more."""
        try:
            return self._types[api_version]
        except KeyError:
            schema = None if self._lookup is None else self._lookup(api_version)
            if schema is None and self._custom:
                text = f"request to convert CR to an invalid group/version: {api_version}"
                raise CannotConvert(text) from None
            field_type = self._types[api_version] = None if schema is None else type_of(schema)
            return field_type

    def convert(
        self, obj: dict[str, Any], api_version: str, why: str = "", *, at: str = ""
    ) -> tuple[FieldType, dict[str, Any]]:
        """Return an object (of the request's version, or ``at`` another) as a version has it, and the type of that.

        Objects of custom resources are converted by their version alone, so that fields which the other version does
        not know are an error.
        """
        kind = self.type_at(api_version)
        assert kind is not None
        if api_version == (at or self.api_version):
            return kind, obj
        if self._conversion is not None:
            obj = self._conversion(obj, at or self.api_version, api_version)
        try:
            validate(kind, obj)
        except Violations as error:
            raise CannotConvert(f"{why}{error}") from None
        return kind, obj

    def settled(self, managed: ManagedFields, live: dict[str, Any]) -> ManagedFields:
        """Return the entries as the types of today see them: one for each manager, without those of unknown
        versions."""
        out = {}
        changed = False
        for entry in managed:
            if self.type_at(entry.api_version) is None:
                changed = True
                continue
            fields = settle(self.convert(live, entry.api_version)[0], entry.fields)
            if fields is not entry.fields:
                entry = entry.replace(fields=fields)
                changed = True
            out[entry.identity] = entry
        return tuple(out.values()) if changed or len(out) < len(managed) else managed

    def comparisons(self, old: dict[str, Any], new: dict[str, Any]) -> Callable[[str], Comparison]:
        """Return the differences as seen from each requested version."""
        made: dict[str, Comparison] = {}

        def at(api_version: str) -> Comparison:
            comparison = made.get(api_version)
            if comparison is None:
                _, before = self.convert(old, api_version, "failed to convert old object: ")
                kind, after = self.convert(new, api_version, "failed to convert new object: ")
                comparison = compare(kind, before, after)
                comparison = made[api_version] = Comparison(
                    self.reset(comparison.removed, api_version), self.reset(comparison.touched, api_version)
                )
            return comparison

        return at


def track_update(
    *,
    schema: Schema,
    live: dict[str, Any] | None,
    new: dict[str, Any],
    managed: ManagedFields,
    manager: str,
    api_version: str,
    now: str,
    subresource: str = "",
    requested: Any = MISSING,
    schema_at: SchemaAt | None = None,
    reset_fields: FieldSet | None = None,
    conversion: ConvertTo | None = None,
) -> ManagedFields:
    """Return the managed fields after ``manager`` made ``new`` out of ``live`` (``None``: out of nothing).

    The objects are those of the request, before the strategy of the kind takes back what this write may not change:
    such fields are named by ``reset_fields``. ``requested`` is
    ``metadata.managedFields`` as the request left it. Never fails: where the server cannot tell, it forgets. What did
    not change is taken to obey the schema.
    """
    if not subresource and requested is not MISSING:
        managed = _requested(requested, managed)
    if not managed and live is not None:
        return ()
    versions = Versions(schema, api_version, schema_at, resetting(api_version, subresource, reset_fields), conversion)
    try:
        return updated(
            versions,
            before=versions.root.empty if live is None else live,
            after=new,
            managed=managed,
            manager=manager,
            subresource=subresource,
            now=now,
        )
    except (Violations, CannotConvert, MalformedFields, RecursionError):
        return ()


def _requested(requested: Any, live: ManagedFields) -> ManagedFields:
    """Return the entries in the request; those of the live object when the request has none that can be decoded."""
    if is_reset(requested):
        return ()
    try:
        return decode(requested) or live
    except InvalidManagedFields:
        return live


def resetting(api_version: str, subresource: str, reset_fields: FieldSet | None) -> Callable[[Tree, str], Tree]:
    """Take out of a set what a write cannot change."""
    dropped = reset_fields.tree if reset_fields is not None else EMPTY

    def reset(tree: Tree, version: str) -> Tree:
        # The main resource names its reset fields for the version in use only, subresources for all of them.
        if version != api_version and not subresource:
            return tree
        return recursive_difference(tree, dropped) if tree else tree

    return reset


def updated(
    versions: Versions,
    *,
    before: dict[str, Any],
    after: dict[str, Any],
    managed: ManagedFields,
    manager: str,
    subresource: str,
    now: str,
) -> ManagedFields:
    """Compute the result of :func:`track_update`. Raises :class:`Violations` and :class:`CannotConvert`."""
    settled = versions.settled(managed, before)
    comparison_at = versions.comparisons(before, after)
    api_version = versions.api_version
    won = difference(comparison_at(api_version).touched, SERVER_FIELDS.tree)
    identity: Identity | None = (manager or "unknown", "Update", api_version, subresource) if won else None
    out = []
    for entry in settled:
        left = difference(entry.fields.tree, comparison_at(entry.api_version).changed)
        if entry.identity == identity:
            won = union(left, won)
        elif left:
            out.append(with_fields(entry, left))
    if identity is not None:
        out.append(new_entry(identity, api_version, now, won))
        return cap_updates(in_order(out))
    return cap_updates(managed if len(out) == len(managed) and all(map(is_, out, managed)) else tuple(out))


def with_fields(entry: ManagedEntry, tree: Tree) -> ManagedEntry:
    """Return the entry, owning just these fields."""
    return entry if tree is entry.fields.tree else entry.replace(fields=FieldSet(tree))


def new_entry(identity: Identity, api_version: str, time: str, tree: Tree) -> ManagedEntry:
    """Return the entry of a manager that writes now."""
    manager, operation, _, subresource = identity
    return managed_entry(manager, operation, api_version, time, subresource, FieldSet(tree))
