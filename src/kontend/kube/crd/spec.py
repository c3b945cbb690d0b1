"""The spec of a definition: its group and names, its versions, and their schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kontend.kube.crd import schema_rules as crd_schema
from kontend.kube.crd.internal_form import InternalSpec, internal_spec, set_fields, shown, shown_list
from kontend.kube.crd.names import (
    column_errors,
    conversion_errors,
    names_errors,
    selectable_errors,
    subresource_errors,
)
from kontend.kube.crd.schema_defaults import default_errors
from kontend.kube.crd.schema_rules import Costs, Options, schema_errors
from kontend.kube.crd.structural_rules import conversion_problem, structural_errors
from kontend.kube.field_errors import FieldError, forbidden, invalid, not_supported, required
from kontend.kube.meta.name_rules import dns1035_label, dns1123_subdomain
from kontend.kube.schema.old_values import same_json
from kontend.kube.schema.openapi_node import Node, as_mapping
from kontend.kube.schema.pruning import prune_copy
from kontend.kube.schema.structural import structural_node

_ROOT_FIELDS: Final = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum", "MaxLength",
    "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items", "Properties",
    "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Strictness:
    """The checks that apply to a definition: all of them to a new one; an update may keep what was accepted before."""

    known_review_versions: bool = True
    established: bool = False
    schemas: bool = True
    structural: bool = True
    pruned_defaults: bool = True
    options: Options = field(default_factory=Options)
    unchanged: frozenset[str] = frozenset()
    many_selectable: frozenset[str] = frozenset()


def new_strictness() -> Strictness:
    """Return the checks for a new definition."""
    return Strictness()


def update_strictness(new: Node, old: Node) -> Strictness:
    """Return the checks for an update, without those that the old definition already violates."""
    before, after = internal_spec(as_mapping(old.get("spec"))), internal_spec(as_mapping(new.get("spec")))
    nodes = [node for _, node in before.schemas()]
    inner = [schema for node in nodes for schema in all_nodes(node)]
    conditions = as_mapping(old.get("status")).get("conditions") or ()
    versions = list(
        as_mapping(as_mapping(before.spec.get("conversion")).get("webhook")).get("conversionReviewVersions") or ()
    )
    names = [str(version.get("name") or "") for version in after.versions]
    selectable = {str(version.get("name")): version.get("selectableFields") for version in before.versions}
    return Strictness(
        known_review_versions=not versions or bool({"v1", "v1beta1"} & set(versions)),
        established=any(
            condition.get("type") == "Established" and condition.get("status") == "True" for condition in conditions
        ),
        schemas=_all_have_schemas(before),
        structural=not any(conversion_problem(node) or structural_errors(node, "") for node in nodes),
        pruned_defaults=all(_defaults_are_pruned(node) for node in nodes),
        options=Options(
            valid_types=all(not schema.get("type") or schema["type"] in crd_schema.TYPES for schema in inner),
            atomic_sets=not any(_has_loose_set(schema) for schema in inner),
            map_keys=not any(crd_schema.map_key_errors(schema, "") for schema in inner),
        ),
        unchanged=frozenset(name for name in names if same_json(after.schema_of(name), before.schema_of(name))),
        many_selectable=frozenset(
            str(version.get("name"))
            for version in after.versions
            if version.get("selectableFields")
            and version.get("selectableFields") == selectable.get(str(version.get("name")))
        )
        | (frozenset({""}) if after.selectable and after.selectable == before.selectable else frozenset()),
    )


def all_nodes(node: Node) -> Iterator[Node]:
    """Yield a schema and all the schemas in it."""
    yield node
    if isinstance(node.get("items"), Mapping):
        yield from all_nodes(node["items"])
    for name in ("allOf", "anyOf", "oneOf"):
        for schema in node.get(name) or ():
            yield from all_nodes(as_mapping(schema))
    if isinstance(node.get("not"), Mapping):
        yield from all_nodes(node["not"])
    for child in as_mapping(node.get("properties")).values():
        yield from all_nodes(as_mapping(child))
    if isinstance(node.get("additionalProperties"), Mapping):
        yield from all_nodes(node["additionalProperties"])


def _all_have_schemas(spec: InternalSpec) -> bool:
    if as_mapping(spec.schema).get("openAPIV3Schema") is not None:
        return True
    return all(as_mapping(version.get("schema")).get("openAPIV3Schema") is not None for version in spec.versions)


def _defaults_are_pruned(node: Node) -> bool:
    for schema in all_nodes(node):
        value = schema.get("default")
        if isinstance(value, (dict, list)) and not same_json(prune_copy(value, structural_node(schema)), value):
            return False
    return True


def _has_loose_set(node: Node) -> bool:
    items = as_mapping(node.get("items"))
    if node.get("x-kubernetes-list-type") != "set":
        return False
    if items.get("type") == "array":
        return items.get("x-kubernetes-list-type") not in (None, "atomic")
    return items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic"


def spec_errors(raw: Node, strictness: Strictness) -> list[FieldError]:
    """List the errors in the spec of a definition."""
    spec = internal_spec(raw)
    preserving = raw.get("preserveUnknownFields") is True
    errors = _group_errors(str(raw.get("group") or ""))
    scope = raw.get("scope") or ""
    if not scope:
        errors.append(required("spec.scope"))
    elif scope not in ("Cluster", "Namespaced"):
        errors.append(not_supported("spec.scope", scope, ("Cluster", "Namespaced")))
    errors += _missing_schemas(spec, strictness, preserving)
    nodes = [schema for _, node in spec.schemas() for schema in all_nodes(node)]
    if any(schema.get("default") is not None for schema in nodes):
        strictness = replace(strictness, structural=True)
        if preserving:
            errors.append(
                invalid("spec.preserveUnknownFields", True, "must be false in order to use defaults in the schema")
            )
    if not preserving or any(_is_extended(schema) for schema in nodes):
        strictness = replace(strictness, structural=True)
    errors += _version_errors(spec, strictness)
    names = as_mapping(raw.get("names"))
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            errors.append(required(f"spec.names.{name}"))
    errors += names_errors(names, "spec.names")
    first = str(spec.versions[0].get("name") or "") if spec.versions else ""
    any_status = any(as_mapping(subresource).get("status") is not None for subresource in _all_subresources(spec))
    errors += _validation_errors(spec.schema, "spec.validation", any_status, _for_version(strictness, first))
    errors += subresource_errors(spec.subresources, "spec.subresources")
    for index, column in enumerate(spec.columns):
        errors += column_errors(as_mapping(column), f"spec.additionalPrinterColumns[{index}]")
    if spec.selectable:
        if spec.schema is None:
            says = "may only be set when validations.schema is included"
            errors.append(invalid("spec.selectableFields", "", says))
        else:
            node = as_mapping(spec.schema.get("openAPIV3Schema"))
            limited = "" not in strictness.many_selectable
            errors += selectable_errors(spec.selectable, node, "spec.selectableFields", limited=limited)
    conversion = raw.get("conversion")
    if isinstance(conversion, Mapping):
        if preserving and conversion.get("strategy") != "None":
            says = "must be None if spec.preserveUnknownFields is true"
            errors.append(invalid("spec.conversion.strategy", conversion.get("strategy"), says))
        known = strictness.known_review_versions
        errors += conversion_errors(conversion, "spec.conversion", known_versions=known)
    return errors


def _group_errors(group: str) -> list[FieldError]:
    if not group:
        return [required("spec.group")]
    wrong = dns1123_subdomain(group)
    if wrong:
        return [invalid("spec.group", group, ",".join(wrong))]
    return [] if "." in group else [invalid("spec.group", group, "should be a domain with at least one dot")]


def _missing_schemas(spec: InternalSpec, strictness: Strictness, preserving: bool) -> list[FieldError]:
    if as_mapping(spec.schema).get("openAPIV3Schema") is not None or (preserving and not strictness.schemas):
        return []
    why = "" if strictness.schemas else "because otherwise all fields are pruned"
    return [
        required(f"spec.versions[{index}].schema.openAPIV3Schema", why)
        for index, version in enumerate(spec.versions)
        if as_mapping(version.get("schema")).get("openAPIV3Schema") is None
        and (strictness.schemas or version.get("served") is True)
    ]


def _is_extended(node: Node) -> bool:
    """Report whether a schema uses extensions that only make sense in a structural one."""
    return (
        node.get("x-kubernetes-embedded-resource") is True
        or node.get("x-kubernetes-preserve-unknown-fields") is not None
        or node.get("x-kubernetes-int-or-string") is True
        or bool(node.get("x-kubernetes-list-map-keys"))
        or node.get("x-kubernetes-list-type") is not None
        or bool(node.get("x-kubernetes-validations"))
    )


def _all_subresources(spec: InternalSpec) -> list[Any]:
    return [spec.subresources, *(version.get("subresources") for version in spec.versions)]


def _for_version(strictness: Strictness, name: str) -> Strictness:
    """Drop the errors about the cost of rules in a schema that did not change."""
    if name not in strictness.unchanged:
        return strictness
    return replace(strictness, options=replace(strictness.options, expression_cost=False))


def _version_errors(spec: InternalSpec, strictness: Strictness) -> list[FieldError]:
    errors: list[FieldError] = []
    per_version = any(version.get("subresources") is not None for version in spec.versions)
    for index, version in enumerate(spec.versions):
        path, name = f"spec.versions[{index}]", str(version.get("name") or "")
        wrong = dns1035_label(name)
        if wrong:
            errors.append(invalid(f"{path}.name", name, ",".join(wrong)))
        subresources = version.get("subresources") if per_version else spec.subresources
        errors += _one_version_errors(version, path, as_mapping(subresources).get("status") is not None, strictness)
    printed = shown_list("version", spec.versions) if spec.spec.get("versions") is not None else None
    names = [version.get("name") for version in spec.versions]
    if len(set(names)) != len(names):
        errors.append(invalid("spec.versions", printed, "must contain unique version names"))
    if sum(version.get("storage") is True for version in spec.versions) != 1:
        says = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", printed, says))
    if names and names[0]:
        wrong = dns1035_label(str(names[0]))
        if wrong:
            errors.append(invalid("spec.version", names[0], ",".join(wrong)))
    return errors


def _one_version_errors(version: Node, path: str, has_status: bool, strictness: Strictness) -> list[FieldError]:
    warning = version.get("deprecationWarning")
    errors = [
        invalid(f"{path}.deprecationWarning", warning, wrong)
        for wrong in _deprecation_errors(version.get("deprecated") is True, warning)
    ]
    name = str(version.get("name") or "")
    raw = version.get("schema")
    holder = as_mapping(raw) if raw is not None else None
    errors += _validation_errors(holder, f"{path}.schema", has_status, _for_version(strictness, name))
    errors += subresource_errors(version.get("subresources"), f"{path}.subresources")
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        errors += column_errors(as_mapping(column), f"{path}.additionalPrinterColumns[{index}]")
    selectable = version.get("selectableFields") or ()
    if selectable:
        node = as_mapping(holder).get("openAPIV3Schema")
        if node is None:
            says = "may only be set when `version.schema.openAPIV3Schema` is not included"
            errors.append(invalid(f"{path}.selectableFields", "", says))
        else:
            limited = name not in strictness.many_selectable
            errors += selectable_errors(selectable, as_mapping(node), f"{path}.selectableFields", limited=limited)
    return errors


def _deprecation_errors(deprecated: bool, warning: Any) -> list[str]:
    if warning is None:
        return []
    if not deprecated:
        return ["can only be set for deprecated versions"]
    text = str(warning)
    errors: list[str] = []
    if len(text.encode("utf-8", "surrogatepass")) > 256:
        errors.append("must be <= 256 characters long")
    if not text:
        errors.append("must not be an empty string")
    for char in text:
        if not char.isprintable():
            at = len(text[: text.index(char)].encode("utf-8", "surrogatepass"))
            says = f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
            errors.append(says)
            break
    return errors


def _validation_errors(holder: Node | None, path: str, has_status: bool, strictness: Strictness) -> list[FieldError]:
    node = as_mapping(holder).get("openAPIV3Schema")
    if not isinstance(node, Mapping):
        return []
    where = f"{path}.openAPIV3Schema"
    errors = _root_errors(node, where) if has_status else []
    if node.get("nullable") is True:
        errors.append(forbidden(f"{where}.nullable", "nullable cannot be true at the root"))
    costs: Costs | None = None
    problem = ""
    if strictness.structural:
        problem = conversion_problem(node)
        if not problem:
            problems = structural_errors(node, where) or default_errors(node, where, pruned=strictness.pruned_defaults)
            errors += problems
            costs = None if problems else Costs()
    errors += schema_errors(node, where, strictness.options, costs)
    if not errors and problem:
        errors.append(invalid(where, "", problem))
    return errors + (costs.errors(where) if costs is not None else [])


def _root_errors(node: Node, path: str) -> list[FieldError]:
    """The status must keep its schema when it is taken out of the whole, so the root may only say so much."""
    for name in set_fields(node):
        if name == "Type":
            if node.get("type") != "object":
                only = 'only "object" is allowed as the type at the root of the schema'
                says = f"{only} if the status subresource is enabled"
                return [invalid(f"{path}.type", node.get("type"), says)]
        elif name not in _ROOT_FIELDS:
            allowed = f"[{' '.join(_ROOT_FIELDS)}]"
            says = f"only {allowed} fields are allowed at the root of the schema if the status subresource is enabled"
            return [invalid(path, shown("schema", node), says)]
    return []
