"""Custom resources: one version of a definition, and the strategy that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

from kontend.kube.encoding.json_text import same_json
from kontend.kube.errors import internal_error
from kontend.kube.field_errors import FieldError, go_value, invalid
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1123_subdomain
from kontend.kube.meta.names import api_version
from kontend.kube.meta.object_meta import finalizer_warnings, validate_object_meta, validate_object_meta_update
from kontend.kube.openapi.validation import validate
from kontend.kube.schema.defaulting import has_defaults
from kontend.kube.schema.structural import structural_schema
from kontend.kube.schema.tree import Schema
from kontend.kube.strategy import SPEC, STATUS, WithOwnFieldLabels, take_over

_SCALE_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


@dataclass(frozen=True, eq=False)
class CustomDefinition:
    """One served version of a CustomResourceDefinition."""

    group: str
    version: str
    kind: str
    namespaced: bool
    storage_version: str
    has_status: bool
    #: The scale subresource: specReplicasPath, statusReplicasPath, labelSelectorPath.
    scale: Mapping[str, str] | None
    openapi: Mapping[str, Any]
    #: The schema of the storage version.
    storage_openapi: Mapping[str, Any]
    #: The warning for every request, if the version is deprecated.
    deprecation: str
    printer_columns: tuple[Mapping[str, Any], ...]
    #: Names of the fields that field selectors may use, such as ``spec.color``.
    selectable_fields: tuple[str, ...]
    #: The conversion of objects to another version: the strategy, and the webhook if there is one.
    conversion: Mapping[str, Any]

    @property
    def converts_by_webhook(self) -> bool:
        """Reports whether a webhook converts objects between versions."""
        return self.conversion.get("strategy") == "Webhook"

    @classmethod
    def of(cls, spec: Mapping[str, Any], version: Mapping[str, Any]) -> CustomDefinition:
        """Read one version from the ``spec`` of a definition."""
        subresources = version.get("subresources") or {}
        storage = next(candidate for candidate in spec["versions"] if candidate.get("storage"))
        kind = f"{spec['group']}/{version['name']} {spec['names']['kind']}"
        deprecation = version.get("deprecationWarning") or f"{kind} is deprecated"
        return cls(
            group=spec["group"],
            version=version["name"],
            kind=spec["names"]["kind"],
            namespaced=spec["scope"] == "Namespaced",
            storage_version=storage["name"],
            has_status=subresources.get("status") is not None,
            scale=subresources.get("scale"),
            openapi=(version.get("schema") or {}).get("openAPIV3Schema") or {},
            storage_openapi=(storage.get("schema") or {}).get("openAPIV3Schema") or {},
            deprecation=deprecation if version.get("deprecated") else "",
            printer_columns=tuple(version.get("additionalPrinterColumns") or ()),
            selectable_fields=tuple(
                field["jsonPath"].removeprefix(".") for field in version.get("selectableFields") or ()
            ),
            conversion=spec.get("conversion") or {},
        )

    @cached_property
    def api_version(self) -> str:
        """The ``apiVersion`` under which objects of this version are served."""
        return api_version(self.group, self.version)

    @cached_property
    def storage_api_version(self) -> str:
        """The ``apiVersion`` under which objects of all versions are stored."""
        return api_version(self.group, self.storage_version)

    @cached_property
    def schema(self) -> Schema:
        """The shape of objects of this version."""
        return structural_schema(self.openapi)

    @cached_property
    def storage_schema(self) -> Schema:
        """The shape in which objects of all versions are stored."""
        return self.schema if self.version == self.storage_version else structural_schema(self.storage_openapi)

    @cached_property
    def has_stored_defaults(self) -> bool:
        """A flag that is True where reading a stored object could add something to it."""
        return has_defaults(self.storage_schema)

    def scale_of(self, obj: Mapping[str, Any]) -> Json:
        """Return the Scale of an object."""
        scale = self.scale or {}
        metadata = obj.get("metadata") or {}
        replicas = _at(obj, scale.get("specReplicasPath", ""))
        status: Json = {"replicas": _at(obj, scale.get("statusReplicasPath", "")) or 0}
        selector = _at(obj, scale.get("labelSelectorPath", ""))
        if selector:
            status["selector"] = selector
        return {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {key: metadata[key] for key in _SCALE_METADATA if key in metadata},
            "spec": {"replicas": replicas} if replicas else {},
            "status": status,
        }

    def check_replicas(self, obj: Mapping[str, Any]) -> None:
        """A Scale can only be read of an object that has replicas; a write may set them for the first time."""
        path = (self.scale or {}).get("specReplicasPath", "")
        if _at(obj, path) is None:
            raise internal_error(f'the spec replicas field "{path}" does not exist')

    def set_scale(self, obj: Json, scale: Mapping[str, Any]) -> None:
        """Give an object the replicas of a Scale, and its resourceVersion for the usual check."""
        fields = (self.scale or {}).get("specReplicasPath", "").removeprefix(".").split(".")
        at = obj
        for field in fields[:-1]:
            at = at.setdefault(field, {})
        at[fields[-1]] = (scale.get("spec") or {}).get("replicas") or 0
        version = (scale.get("metadata") or {}).get("resourceVersion")
        if version:
            obj["metadata"]["resourceVersion"] = version


def _at(obj: Any, path: str) -> Any:
    """Return the value at a path of field names such as ``.spec.replicas``, or None."""
    if not path:
        return None
    for field in path.removeprefix(".").split("."):
        if not isinstance(obj, Mapping):
            return None
        obj = obj.get(field)
    return obj


class CustomStrategy(WithOwnFieldLabels):
    """The rules of a custom resource."""

    allow_unconditional_update: ClassVar[bool] = False
    # The metadata is checked here, because its mistakes decide whether the rules in CEL are run.
    checks_metadata: ClassVar[bool] = False
    rechecks_metadata_update: ClassVar[bool] = False

    def __init__(self, definition: CustomDefinition) -> None:
        self.definition = definition
        self.namespaced = definition.namespaced  # type: ignore[misc]  # known only for each definition
        self.selectable = definition.selectable_fields  # type: ignore[misc]
        if definition.has_status:
            self.reset_fields = {"": STATUS, "status": SPEC}  # type: ignore[misc]

    def prepare_for_create(self, obj: Json) -> None:
        """A new object has no status yet, if status is written on its own."""
        if self.definition.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Everything but metadata counts as a new generation; status stays, if it is written on its own."""
        if self.definition.has_status:
            take_over(new, old, "status")
        if not _same_but_for_metadata(new, old):
            self.next_generation(new, old)

    def prepare_for_status_update(self, new: Json, old: Mapping[str, Any], now: str = "") -> None:  # noqa: ARG002
        """Only the status changes."""
        for name in list(new):
            if name != "status" and name not in old:
                del new[name]
        for name, value in old.items():
            if name == "metadata":
                new["metadata"] = {**value, "resourceVersion": new["metadata"].get("resourceVersion", "")}
            elif name != "status":
                new[name] = value

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new object."""
        wrong = self._type_errors(obj)
        preceding = wrong or validate_object_meta(
            obj["metadata"], namespaced=self.definition.namespaced, name_rule=dns1123_subdomain
        )
        return validate(
            obj, self.definition.schema, preceding=preceding, scale=self.definition.scale, wrong_type=bool(wrong)
        )

    def validate_changes(self, subresource: str, new: Json, old: Json) -> list[FieldError]:
        """Validate an update through the main resource ("") or one of its subresources."""
        wrong = self._type_errors(new)
        preceding = wrong
        if not wrong and new["metadata"] != old["metadata"]:
            preceding = validate_object_meta_update(new["metadata"], old["metadata"])
        return validate(
            new,
            self.definition.schema,
            old,
            preceding=preceding,
            status=subresource == "status",
            scale=self.definition.scale,
            wrong_type=bool(wrong),
        )

    def warnings(self, new: Json, old: Mapping[str, Any] | None) -> list[str]:
        """Return the server's warnings about new finalizers."""
        finalizers = new["metadata"].get("finalizers")
        if not finalizers:
            return []
        before = ((old or {}).get("metadata") or {}).get("finalizers") or ()
        added = sorted(set(finalizers) - set(before))
        return finalizer_warnings(added)

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the values of the selectable fields."""
        labels = dict(super().field_labels(obj))
        for field in self.definition.selectable_fields:
            value = _at(obj, field)
            labels[field] = "" if value is None else value if isinstance(value, str) else go_value(value)
        return labels

    def _type_errors(self, obj: Json) -> list[FieldError]:
        errors = []
        if obj.get("kind") != self.definition.kind:
            errors.append(invalid("kind", obj.get("kind"), f"must be {self.definition.kind}"))
        if obj.get("apiVersion") != self.definition.api_version:
            errors.append(invalid("apiVersion", obj.get("apiVersion"), f"must be {self.definition.api_version}"))
        return errors


def _same_but_for_metadata(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    if len(new) != len(old):
        return False
    return all(name == "metadata" or (name in old and same_json(old[name], value)) for name, value in new.items())
