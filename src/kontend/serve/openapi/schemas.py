"""The shapes of objects as OpenAPI 3 describes them.

Built-in kinds come from the table of Go types, with the names that kube-apiserver gives them
(``io.k8s.api.apps.v1.Deployment``); custom ones from their definitions. The table has no prose, so neither have these:
``kubectl explain`` shows the fields and their types, and no description where a definition does not bring its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from kontend.cluster.resources import Resource
from kontend.kube import kinds
from kontend.kube.json_types import Json
from kontend.kube.schema.tree import MISSING, Schema

REF: Final = "#/components/schemas/"
_MACHINERY: Final = "io.k8s.apimachinery.pkg."
_META: Final = _MACHINERY + "apis.meta.v1."
OBJECT_META: Final = _META + "ObjectMeta"
LIST_META: Final = _META + "ListMeta"
PATCH: Final = _META + "Patch"

_HOMES: Final = {
    "meta/v1": "apimachinery.pkg.apis.meta.v1",
    "resource": "apimachinery.pkg.api.resource",
    "intstr": "apimachinery.pkg.util.intstr",
    "runtime": "apimachinery.pkg.runtime",
    "apiextensions/v1": "apiextensions-apiserver.pkg.apis.apiextensions.v1",
    "apiregistration/v1": "kube-aggregator.pkg.apis.apiregistration.v1",
}
#: Types with their own JSON form, which the schemas of their fields do not show.
_OWN_FORMS: Final[dict[str, Json]] = {
    "Time": {"type": "string", "format": "date-time"},
    "MicroTime": {"type": "string", "format": "date-time"},
    "Duration": {"type": "string"},
    "FieldsV1": {"type": "object"},
    "RawExtension": {"type": "object"},
    "Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    "JSON": {},
    "JSONSchemaPropsOrArray": {},
    "JSONSchemaPropsOrBool": {},
    "JSONSchemaPropsOrStringArray": {},
}

#: A field is required if Go always writes it, but for these: the source says otherwise in a comment.
_OPTIONAL: Final = {
    "apps/v1.StatefulSetOrdinals": {"start"},
    "apps/v1.StatefulSetSpec": {"serviceName"},
    "apps/v1.StatefulSetStatus": {"availableReplicas"},
    "authentication/v1.TokenRequestSpec": {"boundObjectRef", "expirationSeconds"},
    "autoscaling/v2.HorizontalPodAutoscalerStatus": {"currentMetrics"},
    "batch/v1.PodFailurePolicyOnPodConditionsPattern": {"status"},
    "core/v1.AzureFilePersistentVolumeSource": {"secretNamespace"},
    "core/v1.ContainerImage": {"names"},
    "core/v1.Event": {"reportingComponent", "reportingInstance"},
    "core/v1.GRPCAction": {"service"},
    "core/v1.NodeRuntimeHandler": {"name"},
    "core/v1.ProjectedVolumeSource": {"sources"},
    "core/v1.TypedLocalObjectReference": {"apiGroup"},
    "core/v1.TypedObjectReference": {"apiGroup"},
    "discovery/v1.EndpointSlice": {"ports"},
    "events/v1.Event": {"metadata"},
    "flowcontrol/v1.FlowSchemaSpec": {"matchingPrecedence"},
    "flowcontrol/v1.LimitedPriorityLevelConfiguration": {"nominalConcurrencyShares"},
    "flowcontrol/v1.QueuingConfiguration": {"handSize", "queueLengthLimit", "queues"},
    "flowcontrol/v1.ResourcePolicyRule": {"namespaces"},
    "networking/v1.IngressClassParametersReference": {"scope"},
    "networking/v1.NetworkPolicySpec": {"podSelector"},
    "rbac/v1.ClusterRole": {"rules"},
    "rbac/v1.Role": {"rules"},
    "resource/v1.AllocatedDeviceStatus": {"conditions"},
    "resource/v1.CapacityRequestPolicy": {"default"},
    "resource/v1.DeviceClaim": {"requests"},
    "resource/v1.ResourceClaimSpec": {"devices"},
    "storage/v1.CSINodeDriver": {"topologyKeys"},
    "apiextensions/v1.CustomResourceDefinitionStatus": {"acceptedNames", "conditions", "storedVersions"},
}
_REQUIRED: Final = {
    "core/v1.ContainerRestartRule": {"action"},
    "core/v1.ContainerRestartRuleOnExitCodes": {"operator"},
    "core/v1.PodCertificateProjection": {"keyType", "signerName"},
    "networking/v1.IPAddressSpec": {"parentRef"},
    "networking/v1.ParentReference": {"name", "resource"},
    "resource/v1.CapacityRequestPolicyRange": {"min"},
    "resource/v1.CounterSet": {"counters"},
    "resource/v1.DeviceCounterConsumption": {"counters"},
}


def component_name(type_name: str) -> str:
    """Return the name in an OpenAPI document of a type of the table.

    >>> component_name("apps/v1.Deployment")
    'io.k8s.api.apps.v1.Deployment'
    """
    package, _, name = type_name.rpartition(".")
    return f"io.k8s.{_HOMES.get(package) or 'api.' + package.replace('/', '.')}.{name}"


def kind_component(resource: Resource) -> str:
    """Return the name of the component of a resource's objects."""
    if resource.custom is None:
        return builtin_component(resource.group, resource.version, resource.kind)
    return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])


def builtin_component(group: str, version: str, kind: str) -> str:
    """Return the name of the component of a built-in kind."""
    return _names()[id(kinds.schema_of(group, version, kind).properties)]


@cache
def _names() -> dict[int, str]:
    """Return the component of each struct. Schemas of fields are copies, but they share their properties."""
    return {
        id(kinds.type_schema(name).properties): component_name(name)
        for name in kinds.type_names()
        if _is_struct(kinds.type_schema(name))
    }


def _is_struct(schema: Schema) -> bool:
    return schema.type == "object" and schema.additional is None and schema.go_type not in _OWN_FORMS


@cache
def builtin_components() -> Mapping[str, Json]:
    """Every type of the table, by component name."""
    components: dict[str, Json] = {}
    for name in kinds.type_names():
        schema = kinds.type_schema(name)
        own = _OWN_FORMS.get(schema.go_type)
        if own is not None:
            components[component_name(name)] = own
        elif _is_struct(schema):
            components[component_name(name)] = _struct(name, schema)
    components[PATCH] = {"type": "object"}
    components[LIST_META] = {
        "type": "object",
        "properties": {
            "continue": {"type": "string"},
            "remainingItemCount": {"type": "integer", "format": "int64"},
            "resourceVersion": {"type": "string"},
            "selfLink": {"type": "string"},
        },
    }
    return components


def _struct(type_name: str, schema: Schema) -> Json:
    described: Json = {"type": "object"}
    written = {
        name for name, child in schema.properties.items() if not (child.go_field.omit_empty or child.go_field.omit_zero)
    }
    required = written - _OPTIONAL.get(type_name, set()) | _REQUIRED.get(type_name, set())
    if required:
        described["required"] = sorted(required)
    described["properties"] = {name: _field(child) for name, child in sorted(schema.properties.items())}
    if schema.atomic:
        described["x-kubernetes-map-type"] = "atomic"
    return described


def _field(schema: Schema) -> Json:
    described = _value(schema)
    if "$ref" in described:
        reference = described.pop("$ref")
        if not schema.go_field.pointer and _is_struct(schema):
            described["default"] = {}
        described["allOf"] = [{"$ref": reference}]
    elif schema.default is not MISSING:
        described["default"] = schema.default
    if schema.patch_merge_key:
        described["x-kubernetes-patch-merge-key"] = schema.patch_merge_key
    if schema.patch_strategy:
        described["x-kubernetes-patch-strategy"] = schema.patch_strategy
    return described


def _value(schema: Schema) -> Json:
    if schema.go_type in _OWN_FORMS:
        return {"$ref": REF + _own_form_names()[schema.go_type]}
    if schema.items is not None:
        listed: Json = {"type": "array", "items": _element(schema.items)}
        if schema.map_keys:
            listed["x-kubernetes-list-map-keys"] = list(schema.map_keys)
        return {**listed, "x-kubernetes-list-type": schema.list_type}
    if schema.additional is not None:
        mapping: Json = {"type": "object", "additionalProperties": _element(schema.additional)}
        return {**mapping, "x-kubernetes-map-type": "atomic"} if schema.atomic else mapping
    if schema.type == "object":
        return {"$ref": REF + _names()[id(schema.properties)]}
    return {"type": schema.type, "format": schema.format} if schema.format else {"type": schema.type}


def _element(schema: Schema) -> Json:
    """Return the schema of the values of a list or map: never absent, so they always have a default."""
    described = _value(schema)
    if "$ref" in described:
        return {"default": {}, "allOf": [described]} if _is_struct(schema) else described
    zero = {"string": "", "integer": 0, "number": 0, "boolean": False}.get(schema.type)
    return described if zero is None or schema.format == "byte" else {**described, "default": zero}


@cache
def _own_form_names() -> dict[str, str]:
    return {name.rpartition(".")[2]: component_name(name) for name in kinds.type_names() if "." in name}


def kind_components(resource: Resource) -> Iterator[tuple[str, Json]]:
    """Yield the components of a resource: its kind and the list of it."""
    name = kind_component(resource)
    described = _custom(resource) if resource.custom is not None else dict(builtin_components()[name])
    described["x-kubernetes-group-version-kind"] = [_gvk(resource, resource.kind)]
    yield name, described
    if resource.list_kind:
        items = (
            {"$ref": REF + name} if resource.custom is not None else {"default": {}, "allOf": [{"$ref": REF + name}]}
        )
        listed: Json = {
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "items": {"type": "array", "description": f"List of {resource.plural}", "items": items},
                "kind": {"type": "string"},
                "metadata": {"default": {}, "allOf": [{"$ref": REF + LIST_META}]},
            },
            "x-kubernetes-group-version-kind": [_gvk(resource, resource.list_kind)],
        }
        yield list_component(resource), listed


def list_component(resource: Resource) -> str:
    """Return the name of the component of a list of a resource's objects."""
    return kind_component(resource).rpartition(".")[0] + "." + resource.list_kind


def _gvk(resource: Resource, kind: str) -> dict[str, str]:
    return {"group": resource.group, "kind": kind, "version": resource.version}


def _custom(resource: Resource) -> Json:
    assert resource.custom is not None
    described = dict(resource.custom.openapi)
    described["type"] = "object"
    metadata = {"allOf": [{"$ref": REF + OBJECT_META}]}
    own = {name: value for name, value in (described.get("properties") or {}).items() if name != "metadata"}
    described["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": metadata,
        **{name: _typed(value) for name, value in own.items()},
    }
    return described


def _typed(node: Any) -> Any:
    """Return a node of a definition's schema with a type where it has none but says that anything may stand there.

    kubectl cannot explain a field without a type.
    """
    if not isinstance(node, Mapping):
        return node
    described: Json = {}
    for name, value in node.items():
        if name == "properties" and isinstance(value, Mapping):
            described[name] = {key: _typed(inner) for key, inner in value.items()}
        elif name in ("items", "additionalProperties"):
            described[name] = _typed(value)
        else:
            described[name] = value
    if node.get("x-kubernetes-preserve-unknown-fields") and "type" not in node:
        described["type"] = "object"
    if node.get("x-kubernetes-int-or-string") and "anyOf" not in node:
        described["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return described
