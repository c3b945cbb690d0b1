"""The environment of admission expressions: match conditions of webhooks, and all expressions of admission policies.

An expression sees ``object`` and ``oldObject`` without types, the request, the namespace of the object, and, where the
policy has them, its parameters, its variables and an authorizer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kontend.kube.cel import types
from kontend.kube.cel.checker import Environment, check
from kontend.kube.cel.declarations import AUTHORIZER, RESOURCE_CHECK
from kontend.kube.cel.syntax.parser import parse
from kontend.kube.cel.types import Type

VARIABLES_TYPE: Final = "kubernetes.variables"
_TEXTS: Final = types.list_of(types.STRING)
_KIND: Final = types.struct("kubernetes.GroupVersionKind")
_RESOURCE: Final = types.struct("kubernetes.GroupVersionResource")
_LABELS: Final = types.map_of(types.STRING, types.STRING)

#: The object types that expressions may look into, by name.
STRUCTS: Final[Mapping[str, dict[str, Type]]] = {
    "kubernetes.GroupVersionKind": dict.fromkeys(("group", "version", "kind"), types.STRING),
    "kubernetes.GroupVersionResource": dict.fromkeys(("group", "version", "resource"), types.STRING),
    "kubernetes.UserInfo": {
        "username": types.STRING,
        "uid": types.STRING,
        "groups": _TEXTS,
        "extra": types.map_of(types.STRING, _TEXTS),
    },
    "kubernetes.AdmissionRequest": {
        **dict.fromkeys(("kind", "requestKind"), _KIND),
        **dict.fromkeys(("resource", "requestResource"), _RESOURCE),
        **dict.fromkeys(("subResource", "requestSubResource", "name", "namespace", "operation"), types.STRING),
        "userInfo": types.struct("kubernetes.UserInfo"),
        "dryRun": types.BOOL,
        "options": types.DYN,
    },
    "kubernetes.NamespaceSpec": {"finalizers": _TEXTS},
    "kubernetes.NamespaceCondition": {
        **dict.fromkeys(("status", "type", "message", "reason"), types.STRING),
        "lastTransitionTime": types.TIMESTAMP,
    },
    "kubernetes.NamespaceStatus": {
        "conditions": types.list_of(types.struct("kubernetes.NamespaceCondition")),
        "phase": types.STRING,
    },
    "kubernetes.NamespaceMetadata": {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), types.STRING),
        **dict.fromkeys(("labels", "annotations"), _LABELS),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), types.TIMESTAMP),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), types.INT),
        "finalizers": _TEXTS,
    },
    "kubernetes.Namespace": {
        "metadata": types.struct("kubernetes.NamespaceMetadata"),
        "spec": types.struct("kubernetes.NamespaceSpec"),
        "status": types.struct("kubernetes.NamespaceStatus"),
    },
}


def admission_environment(
    *, params: bool, authorizer: bool, variables: Mapping[str, Type] | None = None
) -> Environment:
    """Return the names of an admission expression; ``variables`` are those of its policy with their types."""
    names = {
        "object": types.DYN,
        "oldObject": types.DYN,
        "namespaceObject": types.struct("kubernetes.Namespace"),
        "request": types.struct("kubernetes.AdmissionRequest"),
    }
    structs = dict(STRUCTS)
    if params:
        names["params"] = types.DYN
    if authorizer:
        names |= {"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK}
    if variables is not None:
        names["variables"] = types.struct(VARIABLES_TYPE)
        structs[VARIABLES_TYPE] = dict(variables)
    return Environment(names, structs)


def result_type(source: str, environment: Environment, *, bindings: bool = False) -> Type:
    """Return the type that an expression evaluates to; raises a ``CompileError`` with its mistakes.

    ``bindings`` allows ``cel.bind``.

    >>> str(result_type("object.spec.replicas > 1", admission_environment(params=False, authorizer=False)))
    'bool'
    """
    tree = parse(source, bindings=bindings)
    check(tree, source, environment)
    return tree.type


_AS_IT_IS: Final = frozenset({
    types.BOOL, types.BYTES, types.DOUBLE, types.DURATION, types.INT, types.NULL, types.STRING, types.TIMESTAMP,
    types.UINT,
})  # fmt: skip


def variable_type(kind: Type | None) -> Type:
    """Return the type under which later expressions see a variable: objects lose theirs.

    >>> str(variable_type(types.list_of(types.struct("kubernetes.URL"))))
    'list(dyn)'
    """
    if kind is None:
        return types.DYN
    if kind in _AS_IT_IS:
        return kind
    if kind.kind in ("list", "map"):
        return kind._replace(params=tuple(variable_type(inner) for inner in kind.params))
    return types.DYN
