"""The schema of an object: one tree type for built-in kinds and custom resources.

Built-in kinds are described by a table made from the Go types; custom resources by the structural schema of their
definition. Both become a tree of :class:`Schema`, so that patches, apply, pruning and defaulting are written once.
A schema is never changed after it was built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

#: The fields of every object: never pruned or defaulted with the schema of a kind.
META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})


class _Missing:
    """Stands for a value that is not there, where ``None`` is a value (JSON ``null``)."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = _Missing()

ListType = Literal["atomic", "set", "map"]


class GoField(NamedTuple):
    """The place of a value in its Go struct: the rules by which JSON and protobuf leave it out or write it."""

    pointer: bool = False
    omit_empty: bool = True
    omit_zero: bool = False
    #: The embedded structs that the field sits in, outermost first, with their protobuf numbers.
    inlined: tuple[tuple[str, int], ...] = ()
    #: The protobuf field number.
    number: int = 0


_DEFAULT_FIELD: Final = GoField()


class Schema:
    """One node: a scalar, a list, a map or an object with named fields.

    ``type`` is ``object``, ``array``, ``string``, ``integer``, ``number``, ``boolean``, or empty when anything may
    stand there. An object has ``properties``, or ``additional`` for the values of a map, or both.
    """

    __slots__ = (
        "additional",
        "atomic",
        "decoder",
        "default",
        "embedded",
        "field_type",
        "format",
        "go_field",
        "go_name",
        "go_type",
        "int_or_string",
        "items",
        "list_type",
        "map_keys",
        "node",
        "nullable",
        "patch_merge_key",
        "patch_strategy",
        "preserve_unknown",
        "properties",
        "type",
        "validator",
    )

    def __init__(
        self,
        type: str = "",
        *,
        format: str = "",
        properties: dict[str, Schema] | None = None,
        additional: Schema | None = None,
        items: Schema | None = None,
        list_type: ListType = "atomic",
        map_keys: tuple[str, ...] = (),
        atomic: bool = False,
        default: Any = MISSING,
        nullable: bool = False,
        preserve_unknown: bool = False,
        int_or_string: bool = False,
        embedded: bool = False,
        go_type: str = "",
        go_name: str = "",
        go_field: GoField = _DEFAULT_FIELD,
        patch_strategy: str = "",
        patch_merge_key: str = "",
        node: Mapping[str, Any] | None = None,
    ) -> None:
        self.type = type
        self.format = format
        # Builders fill this dict in place, so that recursive types and shallow copies share it.
        self.properties: dict[str, Schema] = {} if properties is None else properties
        self.additional = additional
        self.items = items
        self.list_type: ListType = list_type
        self.map_keys = map_keys
        #: The map or object is owned and replaced as a whole (x-kubernetes-map-type: atomic).
        self.atomic = atomic
        self.default = default
        self.nullable = nullable
        self.preserve_unknown = preserve_unknown
        self.int_or_string = int_or_string
        self.embedded = embedded
        #: Built-in kinds: the Go type's name (``DeploymentSpec``, ``int32``, ``Quantity``, ``Time``), for decoding.
        self.go_type = go_type
        #: Built-in kinds: the same type as Go prints it in errors (``v1.DeploymentSpec``, ``[]v1.Container``).
        self.go_name = go_name
        #: Built-in kinds: the field of a struct whose value this is.
        self.go_field = go_field
        #: Built-in kinds: ``merge``, ``replace``, ``retainKeys`` or ``merge,retainKeys``, for strategic merge patch.
        self.patch_strategy = patch_strategy
        self.patch_merge_key = patch_merge_key
        #: Custom resources: the OpenAPI node this was made from, for validation.
        self.node = node
        # What others compile from a node is kept in it. Weak dictionaries of the modules that compile were rejected:
        # what is compiled refers to the node, so such a dictionary never lets go of the schemas of a CRD that is
        # updated again and again. The types are known to those modules, which are above this one.
        #: The rules of `kube.openapi.validation`.
        self.validator: Any = None
        #: The decoder of `kube.encoding.decode`; copies of a struct's schema share it.
        self.decoder: Any = None
        #: The type of `kube.apply.field_type`, for a node that is the root of an object.
        self.field_type: Any = None

    def replace(self, **changes: Any) -> Schema:
        """Return a shallow copy with some attributes changed; ``properties`` is shared."""
        copy = object.__new__(Schema)
        for slot in Schema.__slots__:
            setattr(copy, slot, changes.get(slot, getattr(self, slot)))
        copy.field_type = None
        return copy

    def children(self) -> Iterator[tuple[str, Schema]]:
        """Yield the nodes right below this one, by a readable name."""
        yield from self.properties.items()
        if self.additional is not None:
            yield "*", self.additional
        if self.items is not None:
            yield "[]", self.items

    def __repr__(self) -> str:
        return f"Schema({self.type or 'any'}{':' + self.go_type if self.go_type else ''})"


#: Anything at all, owned and merged field by field (how apply treats data without a schema).
ANYTHING: Final = Schema(preserve_unknown=True)
