"""Expressions and parameters that hold objects of an informer's cache.

Listers, indexers and stores hand out the cache's own objects; so do the handlers of an informer's events. The client of
controller-runtime copies what it reads, so its `Get` is no source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kontend.audit.go.calls.typed_clients import cached_getter, looks_like_context
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction, GoType
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import resolve_function, type_of
from kontend.audit.go.source.workspace import Workspace

WORTH_READING = re.compile(rb"Lister|lister|Indexer|indexer|GetStore\(|Informer|ResourceEventHandler|[cC]ache\b")
"""Words without which a file holds no source; it saves parsing the others and decides nothing else."""

_READS = ("Get", "List", "GetByKey", "ByIndex", "Index")
_ACCESSORS = ("Lister", "GetIndexer", "GetStore", "Indexer")
_HANDLERS = ("AddFunc", "UpdateFunc", "DeleteFunc")
_STORES = ("Indexer", "Store", "KeyGetter", "KeyListerGetter", "GenericLister", "GenericNamespaceLister")


def reads_cache(workspace: Workspace, file: GoFile, call: Node) -> bool:
    """Decide whether a call returns objects of a cache themselves."""
    operand, name = syntax.callee(call)
    if name not in _READS or operand is None:
        return False
    if any(looks_like_context(workspace, file, argument) for argument in syntax.arguments(call)[:1]):
        return False  # a cache answers at once; whatever takes a context may ask a server
    function = resolve_function(workspace, file, call)
    if function is not None and function.body is not None:
        return False  # its own returns tell, which are followed
    return _is_lister(workspace, file, operand) or cached_getter(workspace, file, operand)


def _is_lister(workspace: Workspace, file: GoFile, operand: Node) -> bool:
    """Decide whether an expression is a lister or a store: by its type, else by the call or the name that gives it."""
    node = syntax.strip(operand)
    for _ in range(6):
        if node is None:
            return False
        kind = type_of(workspace, file, node)
        if kind is not None:
            return _lister_type(workspace, file, kind)
        if node.type == "call_expression":
            inner, called = syntax.callee(node)
            if called in _ACCESSORS:
                return True
            node = syntax.strip(inner)  # `lister.Pods(namespace)` is a lister where `lister` is one
            continue
        name = text(node if node.type == "identifier" else syntax.field(node, "field"))
        return name.endswith(("Lister", "lister", "Indexer", "indexer"))
    return False


def _lister_type(workspace: Workspace, file: GoFile, kind: GoType) -> bool:
    """Decide whether a type is a lister or a store; an interface of the audited tree is one by its name, because its
    implementation is generated and usually not in sight."""
    segments = kind.package.split("/")
    if "listers" in segments or segments[-1] == "dynamiclister" or kind.package.endswith("client-go/tools/cache"):
        return kind.name.endswith("Lister") or kind.name in _STORES
    struct = workspace.type(kind, file.directory)
    if struct is not None:
        return struct.interface and kind.name.endswith("Lister")
    return workspace.directory_of(kind.package, file.directory) is None and kind.name.endswith("Lister")


def event_handlers(workspace: Workspace, file: GoFile) -> Iterator[tuple[GoFile, Node]]:
    """Yield the functions and function literals that an informer calls with its objects."""
    for keyed in syntax.captures(file.root, "(keyed_element) @k", "k"):
        pair = syntax.children(keyed)
        if len(pair) != 2 or text(pair[0]) not in _HANDLERS:
            continue
        value = next(iter(syntax.children(pair[1])), None) if pair[1].type == "literal_element" else pair[1]
        if value is None:
            continue
        if value.type == "func_literal":
            yield file, value
            continue
        name = text(syntax.field(value, "field")) if value.type == "selector_expression" else text(value)
        for function in workspace.package(file.directory).functions.get(name, ()):
            if bool(function.receiver_type) == (value.type == "selector_expression"):
                yield function.file, function.node


def shared_parameter(workspace: Workspace, function: GoFunction, position: int) -> bool:
    """Decide whether a parameter shares its object with the argument: a struct that is passed by value does not."""
    kind = function.parameters[position][1]
    if kind.type in ("pointer_type", "slice_type", "map_type", "interface_type"):
        return True
    named = function.file.type_of_node(kind, function.type_parameters)
    if named is None:
        return False
    struct = workspace.type(named, function.file.directory)
    if struct is not None:
        return struct.interface or (struct.aliased is not None and (struct.aliased.mapping or struct.aliased.slice))
    return named.name in ("Object", "Interface", "any") or text(kind) in function.type_parameters
