"""Server-side apply: merges the fields that one manager declares into an object that it shares with other managers.

The applier sends all it cares about. What it says is merged into the object; what it applied last time and leaves out
now is taken away, unless somebody else owns it. A field that this would change and that another manager owns is a
conflict, which ``force`` decides for the applier. The applier then owns exactly what it sent.

Also here is :func:`track_update`, ownership after every other write, so that callers find both in one place.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kontend.kube.apply.comparison import same
from kontend.kube.apply.field_manager import (
    SERVER_FIELDS,
    CannotConvert,
    ConvertTo,
    SchemaAt,
    Versions,
    new_entry,
    resetting,
    track_update,
    updated,
    with_fields,
)
from kontend.kube.apply.field_set import (
    FieldSet,
    MalformedFields,
    Tree,
    contains,
    difference,
    intersection,
    paths,
    union,
)
from kontend.kube.apply.field_type import FieldType
from kontend.kube.apply.last_applied import KUBECTL, own_fields, with_annotation
from kontend.kube.apply.managed_fields import Identity, ManagedEntry, ManagedFields, identity_text, in_order
from kontend.kube.apply.merge import merge, remove
from kontend.kube.apply.typed_value import Violations, applied_fields, validate, with_named_fields
from kontend.kube.errors import ApiError, BadRequest, Conflict
from kontend.kube.field_errors import go_quote
from kontend.kube.meta.names import split_api_version
from kontend.kube.schema.tree import Schema

__all__ = ["Applied", "SchemaAt", "apply", "check_kind", "track_update"]

_BEFORE_FIRST_APPLY: Final = "before-first-apply"


class _Conflicts(Exception):
    """Fields that other managers own and that applying would change."""

    def __init__(self, owned: list[tuple[Identity, Tree]]) -> None:
        super().__init__()
        self.owned = owned


class Applied(NamedTuple):
    """The outcome of an apply: the object, its owners, and a flag that is False where no field of the object changed.

    The annotation of ``kubectl apply`` does not count.
    """

    obj: dict[str, Any]
    managed: ManagedFields
    changed: bool


def apply(
    *,
    schema: Schema,
    live: dict[str, Any] | None,
    patch: dict[str, Any],
    managed: ManagedFields,
    manager: str,
    force: bool,
    api_version: str,
    kind: str,
    now: str,
    subresource: str = "",
    schema_at: SchemaAt | None = None,
    reset_fields: FieldSet | None = None,
    conversion: ConvertTo | None = None,
) -> Applied:
    """Apply ``patch`` to ``live`` (``None``: to nothing); return the merged object and its owners.

    The object is the one of the request: the caller prunes, defaults and validates it, unless nothing changed. Raises
    :class:`Conflict`, and :class:`ApiError` in the server's words for what cannot be applied.
    """
    patch = patch if isinstance(patch, dict) else {}
    expected = check_kind(patch, api_version, kind)
    versions = Versions(schema, api_version, schema_at, resetting(api_version, subresource, reset_fields), conversion)
    root = versions.root
    before = live if live is not None else root.empty or {"apiVersion": api_version, "kind": kind}
    try:
        if not managed and live is not None:
            managed = _owned_so_far(versions, live, subresource, now, expected)
        _check_patch(versions, patch, expected)
        _check_live(versions, before, expected)
        identity: Identity = (manager or "unknown", "Apply", "", subresource)
        try:
            obj, managed = _merged(versions, before, patch, managed, identity, force, now)
        except _Conflicts as conflicts:
            mine = own_fields(root, before, api_version) if manager == KUBECTL else None
            left = [(entry, difference(tree, mine or {})) for entry, tree in conflicts.owned]
            left = [(entry, tree) for entry, tree in left if tree]
            if left:
                raise _conflict_error(left) from None
            obj, managed = _merged(versions, before, patch, managed, identity, True, now)
    except (CannotConvert, Violations) as error:
        raise ApiError(str(error)) from None
    except (MalformedFields, RecursionError) as error:
        raise BadRequest(f"the object cannot be applied: {error}") from None
    return Applied(with_annotation(obj, patch) if manager == KUBECTL else obj, managed, obj is not live)


def check_kind(patch: dict[str, Any], api_version: str, kind: str) -> str:
    """Refuses a patch of another kind; returns the kind as messages name it."""
    expected = _kind_text(api_version, kind)
    actual = _kind_text(patch.get("apiVersion"), patch.get("kind"))
    if actual != expected:
        raise BadRequest(f"invalid object type: {actual}")
    return expected


def _owned_so_far(
    versions: Versions, live: dict[str, Any], subresource: str, now: str, kind_text: str
) -> ManagedFields:
    """Return the managed fields for the first apply to an object without any: one entry owns all of its fields."""
    try:
        return updated(
            versions,
            before=versions.root.empty,
            after=live,
            managed=(),
            manager=_BEFORE_FIRST_APPLY,
            subresource=subresource,
            now=now,
        )
    except Violations as error:
        text = f"failed to convert new object ({_object_text(live, kind_text)}) to smd typed: {error}"
        raise ApiError(f"failed to create manager for existing fields: {text}") from None


def _check_patch(versions: Versions, patch: dict[str, Any], kind_text: str) -> None:
    metadata = patch.get("metadata")
    listed = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if isinstance(listed, list) and all(isinstance(entry, dict) for entry in listed):
        raise BadRequest("metadata.managedFields must be nil")
    try:
        validate(versions.root, patch)
    except Violations as error:
        raise ApiError(f"failed to create typed patch object ({_object_text(patch, kind_text)}): {error}") from None


def _check_live(versions: Versions, live: dict[str, Any], kind_text: str) -> None:
    try:
        validate(versions.root, live, duplicates=True)
    except Violations as error:
        raise ApiError(f"failed to create typed live object ({_object_text(live, kind_text)}): {error}") from None


def _merged(
    versions: Versions,
    live: dict[str, Any],
    patch: dict[str, Any],
    managed: ManagedFields,
    identity: Identity,
    force: bool,
    now: str,
) -> tuple[dict[str, Any], ManagedFields]:
    api_version, root = versions.api_version, versions.root
    settled = versions.settled(managed, live)
    last = next((entry for entry in settled if entry.identity == identity), None)
    others = tuple(entry for entry in settled if entry is not last)
    fields = versions.reset(applied_fields(root, patch), api_version)
    obj = merge(root, live, patch)
    if last is not None:
        try:
            obj = _pruned(versions, obj, fields, others, last)
        except CannotConvert as error:
            raise CannotConvert(f"failed to prune fields: {error}") from None
    comparison_at = versions.comparisons(live, obj)
    if not force:
        clashes = [
            (entry.identity, intersection(entry.fields.tree, comparison_at(entry.api_version).touched))
            for entry in others
        ]
        clashes = [(clash, tree) for clash, tree in clashes if tree]
        if clashes:
            raise _Conflicts(clashes)
    unchanged = same(root, live, obj)
    out = []
    for entry in others:
        left = difference(entry.fields.tree, comparison_at(entry.api_version).changed)
        if left:
            out.append(with_fields(entry, left))
    own = difference(fields, SERVER_FIELDS.tree)
    if own:
        since = last.time if last is not None else ""
        out.append(new_entry(identity, api_version, since if unchanged else now, own))
    return (live if unchanged else obj), in_order(out)


def _pruned(
    versions: Versions, merged: dict[str, Any], fields: Tree, others: ManagedFields, last: ManagedEntry
) -> dict[str, Any]:
    """``merged`` without the fields that were applied last time, are not applied now and have no other owner.

    Taking something away is generous at first (with a struct goes all that is in it), then whatever somebody owns is
    added back, and then whatever the applier did not own itself.
    """
    if last.api_version == versions.api_version and contains(
        with_named_fields(versions.root, fields), last.fields.tree
    ):
        return merged
    kind, start = versions.convert(
        merged, last.api_version, "failed to convert merged object to last applied version: "
    )
    applied_last = with_named_fields(kind, last.fields.tree)
    owned = {versions.api_version: fields}
    for entry in others:
        owned[entry.api_version] = union(owned.get(entry.api_version, {}), entry.fields.tree)
    whole, pruned, at = start, remove(kind, start, applied_last) or {}, last.api_version
    for version in sorted(owned, key=lambda api_version: (api_version != last.api_version, api_version)):
        text = f"failed add back owned items: failed to convert %s object at version {version}: "
        converted, whole = versions.convert(whole, version, text % "merged", at=at)
        converted, pruned = versions.convert(pruned, version, text % "pruned", at=at)
        at = version
        wanted = union(_present(converted, pruned), with_named_fields(converted, owned[version]))
        pruned = remove(converted, whole, difference(_present(converted, whole), wanted)) or {}
    text = "failed add back dangling items: failed to convert pruned object to last applied version: "
    pruned = versions.convert(pruned, last.api_version, text, at=at)[1]
    gone = difference(_present(kind, start), _present(kind, pruned))
    result = remove(kind, start, intersection(gone, applied_last)) or {}
    return versions.convert(result, versions.api_version, at=last.api_version)[1]


def _present(kind: FieldType, obj: dict[str, Any]) -> Tree:
    return with_named_fields(kind, applied_fields(kind, obj))


# Messages


def _conflict_error(owned: list[tuple[Identity, Tree]]) -> Conflict:
    owned = sorted(owned, key=lambda entry: identity_text(entry[0]))
    conflicts = [(identity, list(paths(tree))) for identity, tree in owned]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {_manager_text(identity)}", "field": path}
        for identity, listed in conflicts
        for path in listed
    ]
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines = []
        for identity, listed in conflicts:
            lines.append(f"conflicts with {_manager_text(identity)}:")
            lines += [f"- {path}" for path in listed]
        message = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
    return Conflict(message, details={"causes": causes})


def _manager_text(identity: Identity) -> str:
    manager, operation, api_version, subresource = identity
    text = go_quote(manager)
    if subresource:
        text += f" with subresource {go_quote(subresource)}"
    return f"{text} using {api_version}" if operation == "Update" else text


def _kind_text(api_version: Any, kind: Any) -> str:
    """``apps/v1, Kind=Deployment``, as Go prints a kind; empty when the version cannot be read."""
    version = api_version if isinstance(api_version, str) and api_version != "/" else ""
    if version.count("/") > 1:
        return "/, Kind="
    group, version = split_api_version(version)
    return f"{group}/{version}, Kind={kind if isinstance(kind, str) else ''}"


def _object_text(obj: dict[str, Any], kind_text: str) -> str:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    namespace, name = (value if isinstance(value := metadata.get(key), str) else "" for key in ("namespace", "name"))
    return f"{namespace}/{name}; {kind_text}"
