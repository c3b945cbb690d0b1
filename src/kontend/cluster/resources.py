"""The resources that a cluster serves, and the behaviour of each.

A :class:`Resource` joins what is known about one kind at one version: its names, its schema, how a request body becomes
an object of it (:meth:`Resource.normalize`), and its strategy (what the registry does on create, update and delete).
Built-in kinds come from a table; custom ones from the CustomResourceDefinitions in the state. The :class:`Registry` is
made anew when a definition changes and is shared by all states in between.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from typing import Any, Final

from kontend.kube import kinds
from kontend.kube.apply.field_set import FieldSet
from kontend.kube.builtin import defaults as builtin_defaults
from kontend.kube.builtin import strategy_for
from kontend.kube.builtin.conversion import Conversion, conversion_of
from kontend.kube.crd.custom_resource import CustomDefinition, CustomStrategy
from kontend.kube.encoding.decode import decode
from kontend.kube.encoding.required_lists import RequiredLists, required_lists
from kontend.kube.encoding.unstructured import from_unstructured
from kontend.kube.errors import ApiError, BadRequest
from kontend.kube.field_errors import go_quote
from kontend.kube.kinds import SubresourceInfo
from kontend.kube.meta.names import GroupVersionKind, api_version, resource_path
from kontend.kube.openapi.embedded_resources import coerce_embedded, has_embedded
from kontend.kube.openapi.object_meta import coerce_object_meta
from kontend.kube.schema.defaulting import apply_defaults, fill_defaults
from kontend.kube.schema.pruning import preserves_unknown, prune
from kontend.kube.schema.tree import MISSING, Schema
from kontend.kube.strategy import Strategy

#: Groups whose objects are stored as JSON, which keeps empty lists. The others are stored as protobuf.
_STORED_AS_JSON: Final = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})

#: Kinds without a resource that every group version knows, and those of the core group.
_REQUEST_KINDS: Final = frozenset({"CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions",
                                   "UpdateOptions", "WatchEvent"})  # fmt: skip
_CORE_KINDS: Final = frozenset(
    GroupVersionKind("", "v1", kind)
    for kind in (
        "APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Binding", "List", "NodeProxyOptions",
        "PodAttachOptions", "PodExecOptions", "PodLogOptions", "PodPortForwardOptions", "PodProxyOptions",
        "PodStatusResult", "RangeAllocation", "SerializedReference", "ServiceProxyOptions", "Status",
    )
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Resource:
    """One kind at one version, as it is served."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    list_kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, SubresourceInfo] = field(default_factory=dict)
    storage_version_hash: str = ""
    custom: CustomDefinition | None = None

    @cached_property
    def strategy(self) -> Strategy:
        """The part of the registry in writes."""
        return strategy_for(self.group, self.kind) if self.custom is None else CustomStrategy(self.custom)

    @cached_property
    def conversion(self) -> Conversion | None:
        """The conversion of a built-in kind that is stored in another form than this one."""
        return None if self.custom is not None else conversion_of(self.group, self.version, self.kind)

    def to_hub(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return an object of this version in the form that is stored, with that form's defaults."""
        if self.conversion is None:
            return obj
        hub = self.conversion.to_hub(obj)
        builtin_defaults.apply_defaults(hub, self.conversion.hub_group, self.conversion.hub_version, self.kind)
        return hub

    @cached_property
    def key(self) -> str:
        """The key under which objects are stored: the same for all versions of a kind."""
        group = self.internal_group
        return f"{self.plural}.{group}" if group else self.plural

    @property
    def internal_group(self) -> str:
        """The group of the form that is stored, which some messages name."""
        return self.group if self.conversion is None else self.conversion.hub_group

    @cached_property
    def api_version(self) -> str:
        """The ``apiVersion`` of objects."""
        return api_version(self.group, self.version)

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of a collection or of an object; the namespace counts for namespaced kinds only."""
        namespace = namespace if self.namespaced else ""
        return resource_path(
            self.group, self.version, self.plural, namespace=namespace, name=name, subresource=subresource
        )

    @cached_property
    def schema(self) -> Schema:
        """The shape of objects at this version."""
        if self.custom is not None:
            return self.custom.schema
        return kinds.schema_of(self.group, self.version, self.kind)

    @cached_property
    def _reset_fields(self) -> dict[str, FieldSet]:
        return {name: FieldSet.of_paths(paths) for name, paths in self.strategy.reset_fields.items()}

    def reset_fields(self, subresource: str) -> FieldSet | None:
        """Return the fields that a write through this (sub)resource cannot change, and so cannot own."""
        return self._reset_fields.get(subresource)

    def normalized(
        self, obj: dict[str, Any], *, from_maps: bool = False, decodes_metadata: bool = True
    ) -> tuple[dict[str, Any], list[str]]:
        """``obj`` as an object of this kind: known fields only, defaults filled in. ``obj`` is used up.

        Also returns the unknown fields that were dropped. Raises :class:`BadRequest` with the message of the JSON
        decoder or, ``from_maps``, of the converter that follows a strategic merge patch. The metadata of a custom
        resource that comes from storage need not be decoded.
        """
        if self.custom is None:
            resets_owners = _resets_owners(obj)
            obj, unknown = (from_unstructured if from_maps else decode)(obj, self.schema)
            if resets_owners:
                obj["metadata"]["managedFields"] = []
            builtin_defaults.apply_defaults(obj, self.group, self.version, self.kind)
            if self.conversion is not None:
                # What the way through the stored form adds belongs to the writer, as a default does.
                obj = self.conversion.from_hub(self.to_hub(obj))
            self.strategy.convert(obj)
            return obj, unknown
        unknown = []
        if decodes_metadata:
            obj["metadata"], unknown = coerce_object_meta(obj.get("metadata"))
        unknown += prune(obj, self.schema)
        if self._has_embedded:
            unknown += coerce_embedded(obj, self.schema)
        apply_defaults(obj, self.schema)
        return obj, unknown

    @cached_property
    def _has_embedded(self) -> bool:
        return has_embedded(self.schema)

    @cached_property
    def required_lists(self) -> RequiredLists:
        """The lists that are null once they are stored without items."""
        if self.custom is not None or self.group in _STORED_AS_JSON:
            return RequiredLists((), ())
        group, version, _, _ = self.conversion or (self.group, self.version, None, None)
        return required_lists(kinds.schema_of(group, version, self.kind))

    def lacks_defaults(self, obj: dict[str, Any]) -> bool:
        """Report whether reading back could add something to a custom object, which has its own version's defaults."""
        assert self.custom is not None
        if self.custom.version != self.custom.storage_version:
            return True
        return not obj.keys() >= self._defaulted

    @cached_property
    def _defaulted(self) -> frozenset[str]:
        return frozenset(name for name, child in self.schema.properties.items() if child.default is not MISSING)

    def fill_in(self, obj: dict[str, Any]) -> None:
        """Give an object of the storage version the defaults that it gets when it is read back, in place."""
        if self.custom is not None:
            apply_defaults(obj, self.custom.storage_schema)
            return
        hub = self.conversion
        group, version = (self.group, self.version) if hub is None else (hub.hub_group, hub.hub_version)
        builtin_defaults.apply_defaults(obj, group, version, self.kind)

    def completed(self, obj: dict[str, Any], *, fills: bool) -> dict[str, Any]:
        """Return the outcome of an apply as an object of this kind: its fields are known, its defaults are not.

        Without ``fills``, a custom resource keeps the fields that it has, which may be those of another version.
        """
        if self.custom is None:
            try:
                return self.normalized(obj, from_maps=True)[0]
            except BadRequest as error:
                kind = f"{self.group}/{self.version}, Kind={self.kind}"
                where = f"/{(obj.get('metadata') or {}).get('name', '')}; {kind}"
                why = f"unable to convert unstructured object to {kind}: {error.message}"
                raise ApiError(f"failed to convert new object ({where}) to proper version: {why}", code=500) from None
        obj["metadata"] = coerce_object_meta(obj.get("metadata"))[0]
        if fills:
            fill_defaults(obj, self.schema)
        return obj

    @cached_property
    def _preserves_unknown(self) -> bool:
        return preserves_unknown(self.schema)

    def convert(self, obj: dict[str, Any]) -> None:
        """Make an object of the storage version one of this version: fields that it lacks are dropped."""
        prune(obj, self.schema)

    def to_storage(self, obj: dict[str, Any]) -> None:
        """Make an object of this version one of the storage version: fields that that lacks are dropped.

        So are fields that were applied below ``x-kubernetes-preserve-unknown-fields`` but are not preserved themselves.
        """
        if self.custom is None:
            return
        if self.custom.version != self.custom.storage_version or self._preserves_unknown:
            prune(obj, self.custom.storage_schema)


@cache
def body_of(group: str, version: str, kind: str) -> Resource:
    """Return a kind that is only the body of requests, such as Eviction: it can be decoded, and is served nowhere."""
    return Resource(group, version, kind, "", "", "", True, ())


def _resets_owners(obj: Any) -> bool:
    """Report whether an object carries an empty list of owners, which differs from none at all: it resets them."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    return isinstance(metadata, dict) and metadata.get("managedFields") == []


class Registry:
    """All resources that are served, built-in and custom."""

    def __init__(self, custom: Iterable[Resource] = ()) -> None:
        self._by_path: dict[tuple[str, str, str], Resource] = dict(_builtin_by_path())
        self._by_kind: dict[GroupVersionKind, Resource] = dict(_builtin_by_kind())
        self.custom = tuple(custom)
        #: Some kind is converted between its versions by a webhook.
        self.converts_by_webhook = any(
            resource.custom and resource.custom.converts_by_webhook for resource in self.custom
        )
        for resource in self.custom:
            self._by_path[(resource.group, resource.version, resource.plural)] = resource
            self._by_kind[GroupVersionKind(resource.group, resource.version, resource.kind)] = resource

    def at(self, group: str, version: str, plural: str) -> Resource | None:
        """Return the resource served at a path."""
        return self._by_path.get((group, version, plural))

    def is_builtin(self, group: str, version: str) -> bool:
        """Report whether Kubernetes itself serves this group and version."""
        return (group, version) in _builtin_groups()

    def is_builtin_group(self, group: str) -> bool:
        """Report whether Kubernetes itself serves this group."""
        return any(group == builtin for builtin, _ in _builtin_groups())

    def of_kind(self, kind: GroupVersionKind) -> Resource | None:
        """Return the resource that objects of a kind are served as."""
        return self._by_kind.get(kind)

    def why_not(self, resource: Resource, written: GroupVersionKind) -> str:
        """The reason why an object of another kind cannot become one of a built-in resource."""
        group, version, kind = written
        known = self._by_kind.get(written) or self._by_kind.get(written._replace(kind=kind.removesuffix("List")))
        served = known is not None and known.custom is None
        if served or (kind in _REQUEST_KINDS and (group, version) in _builtin_groups()) or written in _CORE_KINDS:
            ours = (resource.group or "core").partition(".")[0]
            return f"converting ({version}.{kind}) to ({ours}.{resource.kind}): unknown conversion"
        where = api_version(group, version)
        scheme = '"pkg/runtime/scheme.go:111"'
        return f"no kind {go_quote(kind)} is registered for version {go_quote(where)} in scheme {scheme}"

    def schema_at(self, api_version_text: str, kind: str) -> Schema | None:
        """Return the schema of a kind at some other version, if that is served."""
        group, _, version = api_version_text.rpartition("/")
        resource = self._by_kind.get(GroupVersionKind(group, version, kind))
        return None if resource is None else resource.schema

    def converted(self, kind: str, obj: dict[str, Any], at: str, to: str) -> dict[str, Any]:
        """Return an object of a built-in kind, written at one version, as another version has it."""
        group, _, version = at.rpartition("/")
        source = self._by_kind.get(GroupVersionKind(group, version, kind))
        group, _, version = to.rpartition("/")
        target = self._by_kind.get(GroupVersionKind(group, version, kind))
        if source is None or target is None:
            return obj
        hub = obj if source.conversion is None else source.conversion.to_hub(obj)
        return hub if target.conversion is None else target.conversion.from_hub(hub)

    def replicas_at(self, resource: Resource) -> dict[str, tuple[str, ...] | None]:
        """Return the path of the replicas in each served version of a custom resource."""
        paths: dict[str, tuple[str, ...] | None] = {}
        for custom in self.custom:
            if custom.key == resource.key and custom.custom is not None:
                path = (custom.custom.scale or {}).get("specReplicasPath", "")
                paths[custom.api_version] = tuple(path.removeprefix(".").split(".")) if path else None
        return paths

    def resources(self) -> list[Resource]:
        """Every resource that is served."""
        return list(self._by_path.values())


@cache
def builtin_resources() -> tuple[Resource, ...]:
    """Return the resources every cluster serves."""
    return tuple(
        Resource(
            group=info.group,
            version=info.version,
            kind=info.kind,
            plural=info.plural,
            singular=info.singular,
            list_kind=info.list_kind,
            namespaced=info.namespaced,
            verbs=info.verbs,
            short_names=info.short_names,
            categories=info.categories,
            subresources=info.subresources,
            storage_version_hash=info.storage_version_hash,
        )
        for info in kinds.resources()
    )


@cache
def _builtin_groups() -> frozenset[tuple[str, str]]:
    return frozenset((resource.group, resource.version) for resource in builtin_resources())


def _builtin_by_path() -> Iterable[tuple[tuple[str, str, str], Resource]]:
    return (((resource.group, resource.version, resource.plural), resource) for resource in builtin_resources())


def _builtin_by_kind() -> Iterable[tuple[GroupVersionKind, Resource]]:
    return (
        (GroupVersionKind(resource.group, resource.version, resource.kind), resource)
        for resource in builtin_resources()
    )


def custom_resources(definition: Mapping[str, Any]) -> list[Resource]:
    """Return the resources that a CustomResourceDefinition makes the server serve, one for each served version."""
    spec = definition["spec"]
    names = spec["names"]
    resources = []
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        custom = CustomDefinition.of(spec, version)
        subresources: dict[str, SubresourceInfo] = {}
        if custom.has_status:
            subresources["status"] = SubresourceInfo(spec["group"], version["name"], names["kind"], _SUBRESOURCE_VERBS)
        if custom.scale is not None:
            subresources["scale"] = SubresourceInfo("autoscaling", "v1", "Scale", _SUBRESOURCE_VERBS)
        resources.append(
            Resource(
                group=spec["group"],
                version=version["name"],
                kind=names["kind"],
                plural=names["plural"],
                singular=names.get("singular") or names["kind"].lower(),
                list_kind=names.get("listKind") or names["kind"] + "List",
                namespaced=spec["scope"] == "Namespaced",
                verbs=_CUSTOM_VERBS,
                short_names=tuple(names.get("shortNames") or ()),
                categories=tuple(names.get("categories") or ()),
                subresources=subresources,
                storage_version_hash=_storage_version_hash(custom),
                custom=custom,
            )
        )
    return resources


def _storage_version_hash(custom: CustomDefinition) -> str:
    """Return the hash by which clients of discovery notice that the stored version changed."""
    text = f"{custom.group}/{custom.storage_version}/{custom.kind}"
    return b64encode(sha256(text.encode()).digest()[:8]).decode()


_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUBRESOURCE_VERBS = ("get", "patch", "update")
