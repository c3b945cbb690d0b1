"""kopf: what a handler writes through `patch`, and what it writes by returning.

kopf collects `patch` and sends it after the handler: a plain merge patch of the object, then one of its status,
neither with a resourceVersion. Functions in `patch.fns` are sent as JSON patches behind a test of the
resourceVersion. A handler's return value goes to `status.<handler>`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kontend.audit.python.bodies import Body, read_body, subscript_path
from kontend.audit.python.source.module import Function, Module, constant, dotted, parameters

_CHANGING = {"create", "update", "resume", "field", "delete", "timer", "daemon"}


@dataclass(frozen=True, slots=True)
class Handler:
    """A decorated function: the events it is for and the resource."""

    function: Function
    events: frozenset[str]
    resource: str


@dataclass(frozen=True, slots=True)
class PatchWrite:
    """One statement that puts something into kopf's patch."""

    node: ast.AST
    function: Function
    path: str
    body: Body
    locked: bool = False


def handlers(module: Module) -> dict[Function, Handler]:
    """Return the kopf handlers of a module."""
    found: dict[Function, Handler] = {}
    if not module.uses("kopf"):
        return found
    for function in module.functions:
        events, resource = set(), ""
        for decorator in function.decorator_list:
            if not isinstance(decorator, ast.Call):
                continue
            parts = dotted(decorator.func).split(".")
            if "kopf" not in module.imports.get(parts[0], parts[0]):
                continue
            events.add(parts[-1])
            words = [constant(each) or module.text(each) for each in decorator.args]
            if words:
                resource = words[0] if len(words) == 1 or ("." in words[0] and len(words) < 3) else words[-1]
        if events:
            found[function] = Handler(function, frozenset(events), resource)
    return found


def patch_writes(module: Module, known: dict[Function, Handler]) -> Iterator[PatchWrite]:
    """Yield what functions with a `patch` of kopf's put into it."""
    for function in module.functions:
        name = _patch_name(module, function, known)
        if not name:
            continue
        for node in ast.walk(function):
            if module.function_of(node) is not function:
                continue
            yield from _statement(module, function, node, name)


def _patch_name(module: Module, function: Function, known: dict[Function, Handler]) -> str:
    for each in (*function.args.args, *function.args.kwonlyargs):
        annotation = module.text(each.annotation)
        if annotation.endswith("Patch") or (
            each.arg == "patch" and (function in known or (module.uses("kopf") and not annotation))
        ):
            return each.arg
    return ""


def _statement(module: Module, function: Function, node: ast.AST, name: str) -> Iterator[PatchWrite]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            path = subscript_path(module, target, name)
            if path:
                yield _write(module, function, node, path, node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        owner = node.func.value
        if node.func.attr == "append" and dotted(owner) == f"{name}.fns":
            yield PatchWrite(node, function, "fns", Body(fields={"status.<function>"}, known=True, version=True), True)
        elif node.func.attr == "update":
            path = subscript_path(module, owner, name)
            if path or (isinstance(owner, ast.Name) and owner.id == name):
                yield _write(module, function, node, path, node.args[0])


def _write(module: Module, function: Function, node: ast.AST, path: str, value: ast.expr) -> PatchWrite:
    holder: ast.expr = value
    for part in reversed(path.split(".") if path else []):
        holder = ast.copy_location(ast.Dict([ast.copy_location(ast.Constant(part), value)], [holder]), value)
    body = read_body(module, holder, node)
    if path == "status" and any(each in parameters(function) for each in _names(value) & {"status"}):
        body.status_read = True
    return PatchWrite(node, function, path, body)


def _names(node: ast.AST) -> set[str]:
    """Names spread whole into a dictionary: `{**status, "phase": x}` or `dict(status)`."""
    found: set[str] = set()
    if isinstance(node, ast.Dict):
        found |= {
            value.id
            for key, value in zip(node.keys, node.values, strict=True)
            if key is None and isinstance(value, ast.Name)
        }
    if isinstance(node, ast.Call) and dotted(node.func) == "dict" and node.args and isinstance(node.args[0], ast.Name):
        found.add(node.args[0].id)
    if isinstance(node, ast.Name):
        found.add(node.id)
    return found


def returned_values(module: Module, known: dict[Function, Handler]) -> Iterator[tuple[Handler, ast.Return]]:
    """Yield the return statements of handlers whose value kopf writes to status."""
    for function, handler in known.items():
        if not handler.events & _CHANGING:
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.Return) or node.value is None or module.function_of(node) is not function:
                continue
            if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                yield handler, node
                break
