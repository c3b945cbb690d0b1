"""The paths of an OpenAPI 3 document: which verbs each resource has, and with which parameters.

Clients look here for two things: the kind that an operation is about, and whether a patch takes ``fieldValidation`` and
``dryRun``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kontend.cluster.resources import Resource
from kontend.kube.json_types import Json
from kontend.kube.kinds import SubresourceInfo
from kontend.serve.openapi.schemas import PATCH, REF, builtin_component, component_name, kind_component, list_component

STATUS: Final = component_name("meta/v1.Status")
DELETE_OPTIONS: Final = component_name("meta/v1.DeleteOptions")

_TYPES: Final = {
    "allowWatchBookmarks": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
_LIST: Final = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip
_DELETE: Final = (
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents",
    "propagationPolicy",
)  # fmt: skip
_DESCRIPTIONS: Final = {
    "allowWatchBookmarks": 'Asks for events of type "BOOKMARK" in a watch.',
    "continue": "Goes on with a list where the answer before it ended: the continue token of that answer.",
    "dryRun": 'With "All", the request is processed in all stages but not persisted.',
    "fieldManager": "The name of the actor or entity that is making these changes.",
    "fieldSelector": "A selector to restrict the list of returned objects by their fields. Defaults to everything.",
    "fieldValidation": "What to do with unknown and duplicate fields: Ignore, Warn or Strict.",
    "force": "Lets an apply take fields from other managers.",
    "labelSelector": "A selector to restrict the list of returned objects by their labels. Defaults to everything.",
    "limit": "The largest number of objects in one answer to a list; the rest follows with continue.",
    "resourceVersion": "A constraint on the versions that a list or watch may be served from.",
    "resourceVersionMatch": "How resourceVersion is applied to a list.",
    "sendInitialEvents": "Begins a watch with the objects that there are.",
    "timeoutSeconds": "Ends a list or watch after so long, regardless of any activity.",
    "watch": "Watch for changes to the described resources and return them as a stream of add, update, and remove "
    "notifications.",
}
_DELETE_MANY: Final = tuple(sorted({*_DELETE, *_LIST} - {"allowWatchBookmarks", "watch"}))
#: Verb: method, the first word of the operation's id, x-kubernetes-action, parameters, codes of success.
_VERBS: Final[dict[str, tuple[str, str, str, tuple[str, ...], tuple[str, ...]]]] = {
    "list": ("get", "list", "list", _LIST, ("200",)),
    "create": ("post", "create", "post", _WRITE, ("200", "201", "202")),
    "deletecollection": ("delete", "delete", "deletecollection", _DELETE_MANY, ("200",)),
    "get": ("get", "read", "get", (), ("200",)),
    "update": ("put", "replace", "put", _WRITE, ("200", "201")),
    "delete": ("delete", "delete", "delete", _DELETE, ("200", "202")),
    "patch": ("patch", "patch", "patch", (*_WRITE, "force"), ("200", "201")),
}
_JSON_AND_YAML: Final = ("application/json", "application/yaml")
_PATCHES: Final = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC: Final = "application/strategic-merge-patch+json"


def paths_of(resource: Resource) -> Iterator[tuple[str, Json]]:
    """Yield the paths of one resource, with what each offers."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    many = f"{root}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else f"{root}/{resource.plural}"
    kind = kind_component(resource)
    collection = {"list": list_component(resource), "create": kind, "deletecollection": STATUS}
    single = {"get": kind, "update": kind, "delete": _deleted(resource), "patch": kind}
    item = _item(resource, collection, ["namespace"] if resource.namespaced else [])
    if item:
        yield many, item
    if resource.namespaced and "list" in resource.verbs:
        yield f"{root}/{resource.plural}", _item(resource, {"list": collection["list"]}, [], everywhere=True)
    at = ["name", "namespace"] if resource.namespaced else ["name"]
    item = _item(resource, single, at)
    if item:
        yield f"{many}/{{name}}", item
    for name, info in sorted(resource.subresources.items()):
        component = _component_of(resource, info)
        if component:
            verbs = {verb: component for verb in info.verbs if verb in _VERBS}
            yield f"{many}/{{name}}/{name}", _item(resource, verbs, at, subresource=name)


def _component_of(resource: Resource, info: SubresourceInfo) -> str:
    """Return the component of what a subresource speaks; none for those that are connected to, such as exec."""
    if info.kind.endswith("Options"):
        return ""
    if (info.group, info.version, info.kind) == (resource.group, resource.version, resource.kind):
        return kind_component(resource)
    try:
        return builtin_component(info.group, info.version, info.kind)
    except KeyError:
        return ""


def _deleted(resource: Resource) -> str:
    """Return the schema of the answer to a delete: mostly a Status, for some kinds the object."""
    if resource.custom is not None or not getattr(resource.strategy, "returns_deleted_object", False):
        return STATUS
    return kind_component(resource)


def _item(
    resource: Resource, verbs: dict[str, str], at: list[str], *, subresource: str = "", everywhere: bool = False
) -> Json:
    allowed = resource.subresources[subresource].verbs if subresource else resource.verbs
    item: Json = {}
    for verb, component in verbs.items():
        if verb in allowed:
            item[_VERBS[verb][0]] = _operation(resource, verb, component, subresource, everywhere=everywhere)
    if item:
        item["parameters"] = [
            *({"name": name, "in": "path", "required": True, "schema": _text()} for name in at),
            {"name": "pretty", "in": "query", "schema": _text()},
        ]
    return item


def _operation(resource: Resource, verb: str, component: str, subresource: str, *, everywhere: bool) -> Json:
    _, word, action, parameters, codes = _VERBS[verb]
    info = resource.subresources.get(subresource)
    custom = resource.custom is not None
    kind = (resource.group, resource.version, resource.kind)
    if info is not None and not custom:
        kind = (info.group, info.version, info.kind)
    media = _JSON_AND_YAML if custom else (*_JSON_AND_YAML, "application/vnd.kubernetes.protobuf")
    content = {media_type: {"schema": {"$ref": REF + component}} for media_type in sorted(media)}
    operation: Json = {
        "tags": [f"{_group_words(resource.group, lower=True)}_{resource.version}"],
        "operationId": _operation_id(resource, word, verb, subresource, everywhere=everywhere),
        "parameters": [
            {
                "name": parameter,
                "in": "query",
                **({"description": _DESCRIPTIONS[parameter]} if parameter in _DESCRIPTIONS else {}),
                "schema": {"type": _TYPES.get(parameter, "string"), "uniqueItems": True},
            }
            for parameter in parameters
        ],
        "responses": {
            **{code: {"description": _REASONS[code], "content": content} for code in codes},
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": kind[0], "version": kind[1], "kind": kind[2]},
    }
    if verb == "patch":
        accepted: tuple[str, ...] = _PATCHES if custom else (*_PATCHES, _STRATEGIC)
        operation["requestBody"] = {"content": _each(accepted, PATCH), "required": True}
    elif verb in ("create", "update"):
        accepted = _JSON_AND_YAML if custom else ("*/*",)
        operation["requestBody"] = {"content": _each(accepted, component), "required": True}
    elif verb in ("delete", "deletecollection"):
        operation["requestBody"] = {"content": _each(("*/*",), DELETE_OPTIONS)}
    return operation


_REASONS: Final = {"200": "OK", "201": "Created", "202": "Accepted"}


def _each(media_types: tuple[str, ...], component: str) -> Json:
    return {media_type: {"schema": {"$ref": REF + component}} for media_type in media_types}


def _text() -> Json:
    return {"type": "string", "uniqueItems": True}


def _operation_id(resource: Resource, word: str, verb: str, subresource: str, *, everywhere: bool) -> str:
    collection = "Collection" if verb == "deletecollection" else ""
    namespaced = "Namespaced" if resource.namespaced and not everywhere else ""
    tail = subresource[:1].upper() + subresource[1:] + ("ForAllNamespaces" if everywhere else "")
    where = _group_words(resource.group) + resource.version[:1].upper() + resource.version[1:]
    return f"{word}{where}{collection}{namespaced}{resource.kind}{tail}"


def _group_words(group: str, *, lower: bool = False) -> str:
    """Return a group as part of an identifier.

    >>> _group_words("rbac.authorization.k8s.io"), _group_words("", lower=True)
    ('RbacAuthorization', 'core')
    """
    parts = group.removesuffix(".k8s.io").split(".") if group else ["core"]
    words = "".join(part[:1].upper() + part[1:] for part in "-".join(parts).split("-"))
    return words[:1].lower() + words[1:] if lower else words
