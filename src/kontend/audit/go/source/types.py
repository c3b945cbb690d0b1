"""The type of an expression and the function that a call reaches, as far as the source in sight tells them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kontend.audit.go.source import syntax
from kontend.audit.go.source.api_types import api_field, is_api_type, lister_answer
from kontend.audit.go.source.package import FunctionKey, GoFile, GoFunction, GoStruct, GoType
from kontend.audit.go.source.scope import How, definitions
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.workspace import Workspace

_DEPTH = 12


def resolve_function(workspace: Workspace, file: GoFile, call: Node) -> GoFunction | None:
    """Return the declared function a call reaches, when it is in sight: in this package, or in an imported one of
    the module."""
    operand, name = syntax.callee(call)
    if not name:
        return None
    count = len(syntax.arguments(call))
    if operand is not None and operand.type in ("identifier", "package_identifier") and text(operand) in file.imports:
        directory = workspace.directory_of(file.imports[text(operand)], file.directory)
        if directory is None:
            return None
        candidates = [
            function for function in workspace.package(directory).functions.get(name, ()) if not function.receiver_type
        ]
        return candidates[0] if candidates else None
    candidates = workspace.package(file.directory).functions.get(name, [])
    if operand is None:
        return next((candidate for candidate in candidates if not candidate.receiver_type), None)
    methods = [candidate for candidate in candidates if candidate.receiver_type and len(candidate.parameters) == count]
    owner = type_of(workspace, file, operand)
    if owner is not None:
        exact = [method for method in methods if method.receiver_type == owner.name]
        if exact:
            return exact[0]
        directory = workspace.directory_of(owner.package, file.directory)
        if directory is not None and directory != file.directory:
            foreign = workspace.package(directory).functions.get(name, ())
            return next((function for function in foreign if function.receiver_type == owner.name), None)
    return methods[0] if len(methods) == 1 and owner is None else None


def callers(workspace: Workspace, function: GoFunction) -> Iterator[tuple[GoFile, Node]]:
    """Yield the calls that may reach a function; a method is matched by the type it is called on, where that is known.

    Where the type is not known, a method of another package counts only in files that import that package.
    """
    for file, call in workspace.callers(function):
        if not function.receiver_type or _may_be_method(workspace, file, call, function):
            yield file, call


def calling_functions(workspace: Workspace, key: FunctionKey) -> frozenset[FunctionKey]:
    """Return the functions that may call one, dropping trees on the way: no node may be held across a call of this.

    A common name is called in a thousand files. Parsed at once, they took a gigabyte.
    """
    found: set[FunctionKey] = set()
    for file in workspace.files_calling(workspace.function(key)):
        workspace.settle()
        function = workspace.function(key)
        for call in workspace.calls_in(file, function):
            caller = file.function_at(call)
            if caller is None or caller.key in found:
                continue
            if not function.receiver_type or _may_be_method(workspace, file, call, function):
                found.add(caller.key)
    return frozenset(found)


def _may_be_method(workspace: Workspace, file: GoFile, call: Node, function: GoFunction) -> bool:
    operand, _ = syntax.callee(call)
    if operand is None or text(operand) in file.imports:
        return False
    owner = type_of(workspace, file, operand)
    if owner is not None:
        return _is_or_embeds(workspace, file, owner, function, 0)
    if operand.type == "call_expression" and resolve_function(workspace, file, operand) is None:
        return False  # `snapshot.NodeInfos().Get(name)`: a type of another module answers
    if file.directory == function.file.directory:
        return True
    return any(
        workspace.directory_of(path, file.directory) == function.file.directory for path in file.imports.values()
    )


def _is_or_embeds(workspace: Workspace, file: GoFile, owner: GoType, function: GoFunction, depth: int) -> bool:
    if owner.name == function.receiver_type:
        return workspace.directory_of(owner.package, file.directory) in (None, function.file.directory)
    struct = workspace.type(owner, file.directory)
    if struct is None or depth > 3:
        return False
    if struct.interface:
        own = function.name in struct.methods and implements(workspace, struct, function)
        return own or any(
            _is_or_embeds(workspace, struct.file, embedded, function, depth + 1) for embedded in struct.embedded
        )
    return any(_is_or_embeds(workspace, struct.file, embedded, function, depth + 1) for embedded in struct.embedded)


def implements(workspace: Workspace, interface: GoStruct, function: GoFunction) -> bool:
    """Decide whether the type that a method belongs to has all the methods of an interface, with the same signatures.

    By its name alone, `Get` of one wrapper counted as the `Get` of every other, and an object that one of them copies
    was taken for the cache's own. A type that embeds another one may have any method, so only this one is compared.
    """
    declared = workspace.package(function.file.directory)
    if not _same_signature(workspace, interface, function.name, function):
        return False
    owner = declared.types.get(function.receiver_type)
    if owner is not None and owner.embedded:
        return True
    return all(
        any(
            method.receiver_type == function.receiver_type and _same_signature(workspace, interface, name, method)
            for method in declared.functions.get(name, ())
        )
        for name in interface.methods
    )


def only_implementation(workspace: Workspace, file: GoFile, call: Node, function: GoFunction) -> bool:
    """Decide whether a call that may reach a method reaches no method of another type.

    A call through an interface that several types of the packages at hand implement may mean any of them.
    """
    operand, name = syntax.callee(call)
    owner = type_of(workspace, file, operand) if operand is not None else None
    struct = workspace.type(owner, file.directory) if owner is not None else None
    if struct is None or not struct.interface or not function.receiver_type:
        return True
    directories = dict.fromkeys((file.directory, struct.file.directory, function.file.directory))
    others = [
        method
        for directory in directories
        for method in workspace.package(directory).functions.get(name, ())
        if method.receiver_type and method is not function and implements(workspace, struct, method)
    ]
    return not others


def _same_signature(workspace: Workspace, interface: GoStruct, name: str, method: GoFunction) -> bool:
    wanted = [*interface.methods[name], *interface.results.get(name, ())]
    given = [*(kind for _, kind in method.parameters), *method.results]
    if len(interface.methods[name]) != len(method.parameters) or len(wanted) != len(given):
        return False
    for one, other in zip(wanted, given, strict=True):
        left, right = interface.file.type_of_node(one), method.file.type_of_node(other)
        if left is None or right is None or left.name in interface.generics:
            continue
        if replace(left, package="") != replace(right, package=""):
            return False
        if _home(workspace, left, interface.file) != _home(workspace, right, method.file):
            return False
    return True


def _home(workspace: Workspace, kind: GoType, file: GoFile) -> str:
    """Return the package of a type by its directory, as its own package names it without an import path."""
    return workspace.directory_of(kind.package, file.directory) or kind.package


def type_of(workspace: Workspace, file: GoFile, node: Node | None, depth: int = 0) -> GoType | None:
    """Infer the type of an expression, or None when it cannot be told from the source in sight."""
    if node is None or depth > _DEPTH:
        return None
    if node.type == "type_assertion_expression":
        return file.type_of_node(syntax.field(node, "type"), _generics(file, node))
    stripped = syntax.strip(node)
    if stripped is not None and stripped is not node and stripped.type != node.type:
        return type_of(workspace, file, stripped, depth + 1)
    if node.type == "composite_literal":
        return file.type_of_node(syntax.field(node, "type"), _generics(file, node))
    if node.type == "identifier":
        return _identifier_type(workspace, file, node, depth)
    if node.type == "selector_expression":
        owner = type_of(workspace, file, syntax.field(node, "operand"), depth + 1)
        return field_type(workspace, file, owner, text(syntax.field(node, "field"))) if owner else None
    if node.type in ("index_expression", "slice_expression"):
        whole = type_of(workspace, file, syntax.field(node, "operand"), depth + 1)
        return whole.element() if whole else None
    if node.type in ("call_expression", "type_conversion_expression"):
        return _call_type(workspace, file, node, 0, depth)
    return None


def _generics(file: GoFile, node: Node) -> dict[str, Node]:
    function = file.function_at(node)
    return function.type_parameters if function else {}


def _identifier_type(workspace: Workspace, file: GoFile, node: Node, depth: int) -> GoType | None:
    for definition in reversed(definitions(workspace, file, text(node), node)):
        if definition.type_node is not None:
            return definition.file.type_of_node(definition.type_node, _generics(definition.file, definition.node))
        if definition.value is None:
            continue
        if definition.how is How.RANGE:
            whole = type_of(workspace, definition.file, definition.value, depth + 1)
            if whole is not None and definition.index == 1:
                return whole.element()
            continue
        value = definition.value
        if value.type in ("call_expression", "type_conversion_expression"):
            go_type = _call_type(workspace, definition.file, value, definition.index, depth + 1)
        else:
            go_type = type_of(workspace, definition.file, value, depth + 1)
        if go_type is not None:
            return go_type
    return None


def field_type(workspace: Workspace, file: GoFile, owner: GoType, name: str, depth: int = 0) -> GoType | None:
    """Return the type of a field, through embedded structs; `XList.Items` is known by convention."""
    struct = workspace.type(owner, file.directory)
    if struct is not None:
        if name in struct.fields:
            return struct.fields[name]
        if depth < 4:
            for embedded in struct.embedded:
                go_type = field_type(workspace, struct.file, embedded, name, depth + 1)
                if go_type is not None:
                    return go_type
    if name == "Items" and owner.name.endswith("List"):
        return GoType(owner.package, owner.name[: -len("List")] or owner.name, slice=True)
    return api_field(owner, name)


def _call_type(workspace: Workspace, file: GoFile, call: Node, index: int, depth: int) -> GoType | None:
    operand, name = syntax.callee(call)
    args = syntax.arguments(call)
    if operand is None and name == "new" and args:
        return file.type_of_node(args[0], _generics(file, call))
    if operand is None and name == "append" and args:
        return type_of(workspace, file, args[0], depth + 1)
    if name in ("DeepCopy", "DeepCopyObject") and operand is not None:
        return type_of(workspace, file, operand, depth + 1)
    if name in ("GetClient",):
        return GoType("sigs.k8s.io/controller-runtime/pkg/client", "Client")
    if name in ("GetAPIReader",):
        return GoType("sigs.k8s.io/controller-runtime/pkg/client", "Reader")
    given = _type_arguments(call)
    function = resolve_function(workspace, file, call)
    if function is not None and index < len(function.results):
        generics = dict(function.type_parameters)
        if given:
            for parameter, argument in zip(function.type_parameters, given, strict=False):
                if _is_parameter(function.results[index], parameter):
                    return file.type_of_node(argument, _generics(file, call))
        return function.file.type_of_node(function.results[index], generics)
    if operand is not None and function is None and index < 2:
        answered = _answer_type(workspace, file, operand, name, index, depth)
        if answered is not None:
            return answered
    if given and index == 0:  # `ResourceAs[*v1.Widget](cfg)`: what it is asked for is what it gives
        return file.type_of_node(given[0], _generics(file, call))
    return None


def _answer_type(workspace: Workspace, file: GoFile, operand: Node, name: str, index: int, depth: int) -> GoType | None:
    """Return the type of a result of a method that has no body in sight: one of an interface of the tree, or of a
    lister of client-go, whose names follow those of the types."""
    owner = type_of(workspace, file, operand, depth + 1)
    if owner is None:
        return None
    struct = workspace.type(owner, file.directory)
    if struct is not None:
        results = struct.results.get(name, ()) if struct.interface else ()
        return struct.file.type_of_node(results[index]) if index < len(results) else None
    return lister_answer(owner, name) if index == 0 else None


def _type_arguments(call: Node) -> list[Node]:
    holder = syntax.field(call, "type_arguments")
    if holder is None and call.type == "type_conversion_expression":
        holder = syntax.field(call, "type", "type_arguments")
    return syntax.children(holder)


def _is_parameter(result: Node, name: str) -> bool:
    while result.type in ("pointer_type",):
        inner = next(iter(syntax.children(result)), None)
        if inner is None:
            return False
        result = inner
    return text(result) == name


def container(workspace: Workspace, file: GoFile, node: Node | None) -> str:
    """Return `list`, `map`, `single`, or nothing when the type of an expression cannot be seen."""
    kind = type_of(workspace, file, node)
    for _ in range(3):
        if kind is None:
            return ""
        if kind.slice or kind.mapping:
            return "list" if kind.slice else "map"
        struct = workspace.type(kind, file.directory)
        if struct is None or struct.aliased is None:
            break
        file, kind = struct.file, struct.aliased
    return "single" if kind is not None and (kind.package.startswith("dir:") or is_api_type(kind)) else ""
