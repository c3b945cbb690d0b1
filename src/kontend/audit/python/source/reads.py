"""Values that came from the server: objects, statuses and lists that were read.

A value that was read is as old as the read. Sent back whole it undoes whatever was written since, so this question
decides between a body that names its own fields and one that puts old ones back.
"""

from __future__ import annotations

import ast
import re

from kontend.audit.python.source.module import Module, bindings, constant, dotted, loops, parameters, unwrapped

_READ = re.compile(
    r"^(get|read|fetch|_get|_read|retrieve|load|refresh|async_get|reload|list|_fetch|find)(_|$)|^(get|read)$"
)
_API_READ = re.compile(
    r"^(get|read|list)_(namespaced|cluster|node|namespace)|^(get|async_get|read|request|refresh|fetch)$|_get$"
)


def is_read_status(module: Module, value: ast.AST, use: ast.AST) -> bool:
    """Decide whether a value is a status that was read: `obj["status"]`, `obj.get("status", {})`, a name bound to
    one of these."""
    inner = unwrapped(value)
    if isinstance(inner, ast.Subscript) and constant(inner.slice) == "status":
        return is_read(module, inner.value, use)
    if (
        isinstance(inner, ast.Call)
        and isinstance(inner.func, ast.Attribute)
        and inner.func.attr in ("get", "setdefault")
    ):
        first = inner.args[0] if inner.args else None
        return constant(first) == "status" and is_read(module, inner.func.value, use)
    if isinstance(inner, ast.Attribute) and inner.attr == "status":
        return is_read(module, inner.value, use)
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.BitOr):
        return is_read_status(module, inner.left, use) or is_read_status(module, inner.right, use)
    if isinstance(inner, ast.Name) and inner.id == "status" and _handed(module, inner, use):
        return True
    if isinstance(inner, ast.Name):
        return any(
            is_read_status(module, binding, binding)
            for binding in bindings(module, inner.id, use)
            if binding is not value
        )
    return False


def is_read(module: Module, node: ast.AST, use: ast.AST, depth: int = 0) -> bool:
    """Decide whether an expression holds something that came from the server."""
    inner = unwrapped(node)
    if depth > 5 or inner is None:
        return False
    if isinstance(inner, ast.Call):
        name = dotted(inner.func).split(".")[-1]
        if (
            name in ("get", "setdefault")
            and inner.args
            and constant(inner.args[0])
            and isinstance(inner.func, ast.Attribute)
        ):
            owner = inner.func.value
            if (
                isinstance(owner, ast.Name | ast.Subscript | ast.Attribute | ast.Call)
                and len(inner.args) <= 2
                and not inner.keywords
            ):
                if is_read(module, owner, use, depth + 1):
                    return True
                return name == "get" and isinstance(owner, ast.Name) and owner.id[:1].isupper()
        if _READ.match(name) and _reads_api(module, name):
            return True
        return any(
            is_read(module, argument, use, depth + 1)
            for argument in inner.args
            if isinstance(argument, ast.Name | ast.Subscript | ast.Call)
        )
    if isinstance(inner, ast.Name):
        if any(
            is_read(module, binding, binding, depth + 1)
            for binding in bindings(module, inner.id, use)
            if binding is not node
        ):
            return True
        if any(is_read(module, loop, use, depth + 1) for loop in loops(module, inner.id, use)):
            return True
        return _handed(module, inner, use)
    if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id == "self":
        return any(is_read(module, value, value, depth + 1) for value in _assigned_to_self(module, inner.attr))
    if isinstance(inner, ast.Subscript | ast.Attribute):
        return is_read(module, inner.value, use, depth + 1)
    if isinstance(inner, ast.BinOp):
        return is_read(module, inner.left, use, depth + 1) or is_read(module, inner.right, use, depth + 1)
    if isinstance(inner, ast.ListComp):
        return any(is_read(module, generator.iter, use, depth + 1) for generator in inner.generators)
    if isinstance(inner, ast.List | ast.Tuple):
        return any(
            isinstance(element, ast.Starred) and is_read(module, element.value, use, depth + 1)
            for element in inner.elts
        )
    return False


def _reads_api(module: Module, name: str) -> bool:
    """A function called get_something in sight must read from the API itself; one out of sight is believed."""
    for function in module.functions:
        if function.name == name:
            return any(
                isinstance(inner, ast.Call) and _API_READ.search(dotted(inner.func).split(".")[-1])
                for inner in ast.walk(function)
            )
    return True


def _handed(module: Module, node: ast.Name, use: ast.AST) -> bool:
    """kopf hands its handlers the object as it was when the event came: `body`, `status`."""
    function = module.function_of(use)
    if function is None or node.id not in ("body", "status") or not module.uses("kopf"):
        return False
    names = parameters(function)
    decorated = any(dotted(decorator).startswith("kopf.") for decorator in function.decorator_list)
    registered = "patch" in names and function.args.kwarg is not None  # `kopf.on.update("widgets")(changed)`
    return (decorated or registered) and node.id in names


def _assigned_to_self(module: Module, name: str) -> list[ast.expr]:
    assigned: list[ast.expr] = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr == name and dotted(target.value) == "self":
                    assigned.append(node.value)
    return assigned
