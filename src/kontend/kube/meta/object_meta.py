"""The metadata of objects: the checks that all kinds share, and the fields that may not change.

These checks are the same for all kinds, built-in and custom. They take metadata that was decoded before, so that types
are right and zero values are absent; :mod:`kontend.kube.openapi.object_meta` does that for custom resources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kontend.kube.field_errors import FieldError, Verbatim, forbidden, go_json, go_quote, invalid, required, too_long
from kontend.kube.meta.name_rules import (
    dns1123_label,
    label_value,
    path_segment,
    path_segment_prefix,
    qualified_name,
    without_trailing_dash,
)
from kontend.kube.meta.names import split_api_version

NameRule = Callable[[str], list[str]]
Meta = Mapping[str, Any]

MAX_ANNOTATIONS_SIZE: Final = 256 * 1024
MAX_MANAGER_SIZE: Final = 128
MAX_SUBRESOURCE_SIZE: Final = 256

_IMMUTABLE: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})
_OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_DUPLICATE_OWNERS: Final = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, "
    "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)


def validate_object_meta(
    meta: Meta, *, namespaced: bool, name_rule: NameRule, field: str = "metadata"
) -> list[FieldError]:
    """Validate an object's metadata; the errors come in the server's order.

    >>> [str(error) for error in validate_object_meta({"namespace": "a"}, namespaced=True, name_rule=path_segment)]
    ['metadata.name: Required value: name or generateName is required']
    """
    errors = validate_names(meta, name_rule, field=field)
    namespace = meta.get("namespace") or ""
    if not namespaced:
        if namespace:
            errors.append(forbidden(f"{field}.namespace", "not allowed on this type"))
    elif namespace:
        errors += [invalid(f"{field}.namespace", namespace, message) for message in dns1123_label(namespace)]
    else:
        errors.append(required(f"{field}.namespace"))
    generation = meta.get("generation") or 0
    if generation < 0:
        errors.append(invalid(f"{field}.generation", generation, "must be greater than or equal to 0"))
    errors += _common(meta, field, with_finalizers=True)
    return errors


def validate_names(meta: Meta, name_rule: NameRule, *, field: str = "metadata") -> list[FieldError]:
    """Validate the name of an object and the prefix from which one is generated."""
    errors: list[FieldError] = []
    prefix = meta.get("generateName") or ""
    if prefix:
        rule = path_segment_prefix if name_rule is path_segment else name_rule
        checked = prefix if name_rule is path_segment else without_trailing_dash(prefix)
        errors += [invalid(f"{field}.generateName", prefix, message) for message in rule(checked)]
    name = meta.get("name") or ""
    if name:
        for message in name_rule(name):
            errors.append(invalid(f"{field}.name", name, message))
    else:
        errors.append(required(f"{field}.name", "name or generateName is required"))
    return errors


def validate_object_meta_update(new: Meta, old: Meta, *, field: str = "metadata") -> list[FieldError]:
    """Validate an update of metadata; the errors come in the server's order.

    The system's own fields that the writer left out must have been filled in from the old object before.
    """
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        extra = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if extra:
            listed = "[]string{" + ", ".join(map(go_quote, extra)) + "}"
            why = f"no new finalizers can be added if the object is being deleted, found new finalizers {listed}"
            errors.append(forbidden(f"{field}.finalizers", why))
    if not new.get("resourceVersion"):
        errors.append(invalid(f"{field}.resourceVersion", "", "must be specified for an update"))
    generation = new.get("generation") or 0
    if generation < (old.get("generation") or 0):
        errors.append(invalid(f"{field}.generation", generation, "must not be decremented"))
    for key in _IMMUTABLE:
        value = new.get(key)
        if value != old.get(key):
            empty = "" if key in ("name", "namespace", "uid") else None
            errors.append(invalid(f"{field}.{key}", empty if value is None else value, "field is immutable"))
    errors += _common(new, field, with_finalizers=False)
    return errors


def _common(meta: Meta, field: str, *, with_finalizers: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if labels := meta.get("labels"):
        errors += validate_labels(labels, f"{field}.labels")
    if annotations := meta.get("annotations"):
        errors += validate_annotations(annotations, f"{field}.annotations")
    if owners := meta.get("ownerReferences"):
        errors += _validate_owners(owners, f"{field}.ownerReferences")
    if with_finalizers and (finalizers := meta.get("finalizers")):
        errors += _validate_finalizers(finalizers, f"{field}.finalizers")
    if managed := meta.get("managedFields"):
        errors += _validate_managed_fields(managed, f"{field}.managedFields")
    return errors


def validate_labels(labels: Mapping[str, str], field: str) -> list[FieldError]:
    """Validate the keys and values of labels; error name the map, not the key."""
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += [invalid(field, key, message) for message in qualified_name(key)]
        errors += [invalid(field, value, message) for message in label_value(value)]
    return errors


def validate_annotations(annotations: Mapping[str, str], field: str) -> list[FieldError]:
    """Validate the keys of annotations, and their total size."""
    errors: list[FieldError] = []
    size = 0
    for key, value in annotations.items():
        errors += [invalid(field, key, message) for message in qualified_name(key.lower())]
        size += _size(key) + _size(value)
    if size > MAX_ANNOTATIONS_SIZE:
        errors.append(too_long(field, MAX_ANNOTATIONS_SIZE))
    return errors


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _validate_owners(owners: Sequence[Meta], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = ""
    for owner in owners:
        written = owner.get("apiVersion") or ""
        if not split_api_version(written)[1] or written.count("/") > 1:
            errors.append(invalid(f"{field}.apiVersion", owner.get("apiVersion") or "", "version must not be empty"))
        for key in ("kind", "name", "uid"):
            if not owner.get(key):
                errors.append(invalid(f"{field}.{key}", "", "must not be empty"))
        if owner.get("apiVersion") == "v1" and owner.get("kind") == "Event":
            errors.append(invalid(field, _written(owner), "/v1, Kind=Event is disallowed from being an owner"))
        if owner.get("controller"):
            this = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                why = 'Only one reference can have Controller set to true. Found "true" in references for'
                shown = Verbatim("[" + ",".join(map(_written, owners)) + "]")
                errors.append(invalid(field, shown, f"{why} {controller} and {this}"))
            else:
                controller = this
    return errors


def _written(owner: Meta) -> Verbatim:
    """Return an owner reference with its fields in the order of the Go type."""
    return Verbatim("{" + ",".join(f'"{key}":{go_json(owner[key])}' for key in _OWNER_FIELDS if key in owner) + "}")


def _validate_finalizers(finalizers: Sequence[str], field: str) -> list[FieldError]:
    errors = [invalid(field, finalizer, message) for finalizer in finalizers for message in qualified_name(finalizer)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        errors.append(invalid(field, list(finalizers), "finalizer orphan and foregroundDeletion cannot be both set"))
    return errors


def _validate_managed_fields(entries: Sequence[Meta], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, entry in enumerate(entries):
        at = f"{field}[{index}]"
        if entry.get("operation") not in ("Apply", "Update"):
            errors.append(invalid(f"{at}.operation", entry.get("operation") or "", "must be `Apply` or `Update`"))
        if entry.get("fieldsType") not in (None, "", "FieldsV1"):
            errors.append(invalid(f"{at}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        errors += validate_field_manager(entry.get("manager") or "", f"{at}.manager")
        if _size(entry.get("subresource") or "") > MAX_SUBRESOURCE_SIZE:
            errors.append(too_long(f"{at}.subresource", MAX_SUBRESOURCE_SIZE))
    return errors


def validate_field_manager(manager: str, field: str = "fieldManager") -> list[FieldError]:
    """Validate the name of a field manager: its length, and that it is printable.

    >>> str(validate_field_manager("a\\tb")[0])
    'fieldManager: Invalid value: "a\\\\tb": invalid character U+0009 (at position 1)'
    """
    errors = [too_long(field, MAX_MANAGER_SIZE)] if _size(manager) > MAX_MANAGER_SIZE else []
    if manager.isascii() and manager.isprintable():
        return errors
    position = 0
    for char in manager:
        if not char.isprintable():
            errors.append(invalid(field, manager, f"invalid character U+{ord(char):04X} (at position {position})"))
        position += _size(char)
    return errors


def unqualified_finalizers(meta: Meta, field: str = "metadata") -> list[FieldError]:
    """Built-in kinds refuse the finalizers that custom resources are only warned about."""
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"{field}.finalizers[{index}]", finalizer, why)
        for index, finalizer in enumerate(meta.get("finalizers") or ())
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS
    ]


def finalizer_warnings(finalizers: Sequence[str], field: str = "metadata.finalizers") -> list[str]:
    """Return the server's warnings about the finalizers of a custom resource.

    >>> finalizer_warnings(["foregroundDeletion", "example.com/x", "mine"])[0][:60]
    'metadata.finalizers: "mine": prefer a domain-qualified final'
    """
    warnings: list[str] = []
    for finalizer in finalizers:
        warnings += [f"{field}: {go_quote(finalizer)}: {message}" for message in qualified_name(finalizer)]
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in finalizer else ""
            warnings.append(
                f"{field}: {go_quote(finalizer)}: prefer a domain-qualified finalizer name{path} "
                "to avoid accidental conflicts with other finalizer writers"
            )
    return warnings


def dedup_owner_references(meta: dict[str, Any], *, after_admission: bool = False) -> list[str]:
    """Drop, in place, the owner references that stand there twice; at most one warning says which."""
    owners = meta.get("ownerReferences")
    if not owners or len(owners) == 1:
        return []
    kept: list[Any] = []
    dropped: list[str] = []
    for owner in owners:
        if owner in kept:
            dropped.append(owner.get("uid") or "")
        else:
            kept.append(owner)
    if not dropped:
        return []
    meta["ownerReferences"] = kept
    when = " after mutating admission happens" if after_admission else ""
    return [_DUPLICATE_OWNERS.format(when, ", ".join(dropped))]
