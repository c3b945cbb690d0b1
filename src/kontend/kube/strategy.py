"""Strategies: the rules that the API server applies to objects of one kind around every write.

Every kind has a strategy: which fields a writer may not set, when the generation grows, how the object is validated, by
which fields it can be selected, and what happens when it is deleted. The server asks the strategy in this order:

- create: ``convert``, managed fields, ``admit_create``, ``prepare_for_create``, ``validate``, ``canonicalize``;
- update: ``convert``, managed fields, ``admit_update``, ``prepare``, ``validate_changes``, ``canonicalize``.

Objects are plain dicts that were decoded and defaulted before, so types are right and zero values may be absent. The
``prepare`` methods change the new object in place and may share parts of the old one with it. The checks that are
the same for every kind (names, labels, finalizers, what may not change in ``metadata``) are not here but in
``object_meta``; a strategy only says which rule its names obey and whether its own validation looks at the
metadata as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, Literal

from kontend.kube.field_errors import FieldError, go_quote
from kontend.kube.json_types import Json
from kontend.kube.meta.equality import same
from kontend.kube.meta.name_rules import dns1123_subdomain

#: The stored objects of a cluster-scoped kind, by group and kind: what admission may look at.
ListObjects = Callable[[str, str], Iterable[Mapping[str, Any]]]
FieldPath = tuple[str, ...]

STATUS: Final[tuple[FieldPath, ...]] = (("status",),)
SPEC: Final[tuple[FieldPath, ...]] = (("spec",),)


def nothing_stored(group: str, kind: str) -> Iterable[Mapping[str, Any]]:  # noqa: ARG001 - the signature is the contract
    """Return a cluster without objects, for callers who have none."""
    return ()


def metadata_of(obj: Json) -> Json:
    """Return the object's metadata, made if it is not there."""
    metadata: Json = obj.setdefault("metadata", {})
    return metadata


def take_over(new: Json, old: Mapping[str, Any], *fields: str) -> None:
    """Give ``new`` the old object's value of some fields, or no value where the old one has none."""
    for field in fields:
        if field in old:
            new[field] = old[field]
        else:
            new.pop(field, None)


def reset_metadata_for_status(new: Json, old: Mapping[str, Any]) -> None:
    """Restores the metadata that a write to a subresource tried to change."""
    fields = ("deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers", "ownerReferences")
    take_over(metadata_of(new), old.get("metadata") or {}, *fields)


class Strategy:
    """The rules of one kind; as it stands, those of a kind that has none of its own.

    ``validate``, ``validate_update`` and ``validate_status_update`` return what is wrong with everything but the
    metadata. The server puts the metadata's errors before them:

    - on create those of ``validate_object_meta`` with ``name_rule``, if ``checks_metadata``; and when nothing at all
      was wrong, those of ``validate_object_meta`` with the rule ``path_segment``;
    - on update always those of ``validate_object_meta`` with ``path_segment`` and of ``validate_object_meta_update``;
      then those of ``validate_object_meta`` with ``name_rule`` if ``rechecks_metadata`` and it is not the status that
      is written, and those of ``validate_object_meta_update`` if ``rechecks_metadata_update``. The message names each
      mistake once, but every repetition is a cause of its own.
    """

    namespaced: ClassVar[bool] = True
    allow_unconditional_update: ClassVar[bool] = True
    allow_create_on_update: ClassVar[bool] = False
    #: A write to the status may not change the metadata either.
    status_resets_metadata: ClassVar[bool] = False
    #: A deletion answers with the object and not with a ``Status``.
    returns_deleted_object: ClassVar[bool] = False
    #: The propagation policy of a delete that names none.
    default_deletion: ClassVar[Literal["background", "orphan", "unsupported"]] = "background"
    #: Fields that a write to a subresource (the main resource is "") takes back; applying them owns nothing.
    reset_fields: ClassVar[Mapping[str, tuple[FieldPath, ...]]] = {}
    name_rule: ClassVar[staticmethod[[str], list[str]]] = staticmethod(dns1123_subdomain)
    checks_metadata: ClassVar[bool] = True
    #: Finalizers must be well known or have a domain; not so in the groups that extend the API.
    checks_finalizers: ClassVar[bool] = True
    #: A new object without a name is named by a uid.
    names_by_uid: ClassVar[bool] = False
    rechecks_metadata: ClassVar[bool] = False
    rechecks_metadata_update: ClassVar[bool] = True
    #: The status a new object gets, or None for a kind whose status is not split off.
    zero_status: ClassVar[Mapping[str, Any] | None] = None
    #: Changes of these fields grow ``metadata.generation``; empty for kinds that do not count generations.
    generation_fields: ClassVar[tuple[str, ...]] = ()
    #: Maps and lists for which the server tells an empty one from none.
    empty_fields: ClassVar[tuple[FieldPath, ...]] = ()
    #: Objects that the server keeps as the text that was written; "*" stands for any list item.
    raw_fields: ClassVar[tuple[FieldPath, ...]] = ()
    #: Field selectors that may be used, beside those on the name and the namespace.
    selectable: ClassVar[tuple[str, ...]] = ()
    #: Old names of selectable fields.
    field_aliases: ClassVar[Mapping[str, str]] = {}

    def convert(self, obj: Json) -> None:
        """Add what the way through the server's internal form adds; twice is the same as once."""

    def admit_create(self, obj: Json, list_objects: ListObjects = nothing_stored) -> None:
        """Lets the built-in admission plugins change a new object; raises ``Forbidden`` when one of them refuses."""

    def admit_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Lets the built-in admission plugins change an object that is being updated."""

    def set_requester(self, obj: Json, user_info: Callable[[], Mapping[str, Any]]) -> None:
        """Note in a new object who created it, where the kind keeps that; ``user_info`` makes a ``UserInfo``."""

    def prepare_for_create(self, obj: Json) -> None:
        """Take away what the creator may not set, and sets what only the server sets."""
        if self.zero_status is not None:
            zero = self.zero_status.items()
            obj["status"] = {key: dict(value) if isinstance(value, dict) else value for key, value in zero}
        if self.generation_fields:
            metadata_of(obj)["generation"] = 1

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Take back what a write to the main resource may not change; ``metadata.generation`` is still the old one."""
        if self.zero_status is not None:
            take_over(new, old, "status")
        counted, before = ({name: obj[name] for name in self.generation_fields if name in obj} for obj in (new, old))
        if not same(counted, before):
            self.next_generation(new, old)

    def prepare_for_status_update(self, new: Json, old: Mapping[str, Any], now: str = "") -> None:  # noqa: ARG002
        """Take back what a write to the status may not change; ``now`` is for kinds that note the time."""
        take_over(new, old, "spec")
        if self.status_resets_metadata:
            reset_metadata_for_status(new, old)

    def prepare(self, subresource: str, new: Json, old: Mapping[str, Any], now: str = "") -> None:
        """Prepare an update through the main resource ("") or one of its subresources."""
        if subresource == "":
            self.prepare_for_update(new, old)
        else:
            self.prepare_for_status_update(new, old, now)

    def validate(self, obj: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a new object, apart from its metadata."""
        return []

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a change of the main resource, apart from its metadata."""
        return self.validate(new)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a change of the status, apart from the metadata."""
        return []

    def validate_changes(self, subresource: str, new: Json, old: Json) -> list[FieldError]:
        """Validate an update through the main resource ("") or one of its subresources."""
        return self.validate_update(new, old) if subresource == "" else self.validate_status_update(new, old)

    def internal_metadata(self, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the metadata of the server's internal form, which tables and partial objects show."""
        return metadata

    def warnings(self, new: Json, old: Mapping[str, Any] | None) -> list[str]:  # noqa: ARG002
        """Return the server's warnings about a valid object."""
        return []

    def canonicalize(self, obj: Json) -> None:
        """Brings a valid object into the form in which it is stored."""

    def grace_period(self, obj: Mapping[str, Any], requested: int | None) -> int | None:  # noqa: ARG002
        """Return the grace period of a deletion, or None for kinds that are deleted at once."""
        return None

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the values of the selectable fields; one that is missing here is empty."""
        metadata = obj.get("metadata") or {}
        labels = {"metadata.name": metadata.get("name", "")}
        if self.namespaced:
            labels["metadata.namespace"] = metadata.get("namespace", "")
        return labels

    def canonical_field_label(self, label: str) -> str | None:
        """Return the name under which ``field_labels`` knows a selectable field, or None if it is not selectable.

        >>> Strategy().canonical_field_label("metadata.name"), Strategy().canonical_field_label("spec.color")
        ('metadata.name', None)
        """
        if label in ("metadata.name", "metadata.namespace") or label in self.selectable:
            return label
        return self.field_aliases.get(label)

    def unsupported_field_label(self, label: str) -> str:
        """Return the message that refuses any other field selector.

        >>> Strategy().unsupported_field_label("data.x")
        '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"'
        """
        return f'{go_quote(label)} is not a known field selector: only "metadata.name", "metadata.namespace"'

    def next_generation(self, new: Json, old: Mapping[str, Any]) -> None:
        """Count one more generation than the old object has."""
        metadata_of(new)["generation"] = ((old.get("metadata") or {}).get("generation") or 0) + 1


class WithOwnFieldLabels(Strategy):
    """A kind that registers its field selectors, and so refuses others with the shorter message."""

    def unsupported_field_label(self, label: str) -> str:
        """Return the message that refuses any other field selector."""
        return f"field label not supported: {label}"


class WithSpecAndStatus(Strategy):
    """The usual shape: a counted spec, and a status that is written through its own subresource."""

    zero_status: ClassVar[Mapping[str, Any] | None] = {}
    generation_fields: ClassVar[tuple[str, ...]] = ("spec",)
    reset_fields: ClassVar[Mapping[str, tuple[FieldPath, ...]]] = {"": STATUS, "status": SPEC}
