"""kopf handlers, and their writes: through `patch` and by returning.

kopf collects `patch` and sends it after the handler: a plain merge patch of the object, then one of its status,
neither with a resourceVersion. Functions in `patch.fns` are sent as JSON patches behind a test of the
resourceVersion. A handler's return value goes to `status.<handler>`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
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


Registrations = dict[str, list[tuple[str, str, str]]]
"""Functions registered by calling a decorator, by name: the event, the resource, and the module they came from."""


def registered_by_call(modules: Iterable[Module]) -> Registrations:
    """Collect `kopf.on.create("widgets")(module.create_fn)`, which registers a function of another module."""
    registrations: Registrations = {}
    for module in modules:
        for call in module.calls:
            if not isinstance(call.func, ast.Call) or not call.args:
                continue
            registered = _decorator(module, call.func)
            target = dotted(call.args[0])
            if registered is None or not target:
                continue
            parts = target.split(".")
            origin = module.imports.get(parts[0], "")
            holder = origin.split(".")[-1] if len(parts) > 1 else origin.rpartition(".")[0].split(".")[-1]
            registrations.setdefault(parts[-1], []).append((*registered, holder or module.stem))
    return registrations


def _decorator(module: Module, decorator: ast.AST) -> tuple[str, str] | None:
    """Return the event and the resource of a kopf decorator."""
    if not isinstance(decorator, ast.Call):
        return None
    parts = dotted(decorator.func).split(".")
    if "kopf" not in module.imports.get(parts[0], parts[0]):
        return None
    words = [constant(word) or module.text(word) for word in decorator.args]
    resource = ""
    if words:
        resource = words[0] if len(words) == 1 or ("." in words[0] and len(words) < 3) else words[-1]
    return parts[-1], resource


def handlers(module: Module, registrations: Registrations | None = None) -> dict[Function, Handler]:
    """Return the kopf handlers of a module: decorated functions, and those registered by a call."""
    handlers: dict[Function, Handler] = {}
    called = registrations or {}
    if not module.uses("kopf") and not called:
        return handlers
    for function in module.functions:
        events, resource = set(), ""
        known = [_decorator(module, decorator) for decorator in function.decorator_list]
        known += [(event, named) for event, named, holder in called.get(function.name, ()) if holder == module.stem]
        for registered in known:
            if registered is not None:
                events.add(registered[0])
                resource = registered[1] or resource
        if events:
            handlers[function] = Handler(function, frozenset(events), resource)
    return handlers


def patch_writes(module: Module, known: dict[Function, Handler]) -> Iterator[PatchWrite]:
    """Yield what functions with a `patch` of kopf's put into it."""
    for function in module.functions:
        names = _patch_names(module, function, known)
        if not names:
            continue
        for node in module.nodes_in(function):
            if not isinstance(node, ast.Assign | ast.Call) or module.function_of(node) is not function:
                continue
            for name in names:
                yield from _statement(module, function, node, name)


def _patch_names(module: Module, function: Function, known: dict[Function, Handler]) -> list[str]:
    """Return the names under which a function reaches kopf's patch: a parameter, a variable, an attribute of self."""
    names = []
    uses_kopf = module.uses("kopf") or function in known
    for argument in (*function.args.args, *function.args.kwonlyargs):
        annotation = module.text(argument.annotation)
        if annotation.endswith("Patch") or (argument.arg == "patch" and uses_kopf and not annotation):
            names.append(argument.arg)
        elif argument.arg == "patch" and not annotation and _fills_status(module, function, "patch"):
            names.append("patch")
    if names or not uses_kopf:
        return names
    if function.args.kwarg is not None:
        names.append(f"{function.args.kwarg.arg}[patch]")
    holder = module.parents.get(function)
    if "patch" not in parameters(function) and _taken_from_kopf(module, function):
        names.append("patch")
    if isinstance(holder, ast.ClassDef):
        names += [name for name in ("self.patch", "self._patch") if _fills_status(module, function, name)]
    return names


def _taken_from_kopf(module: Module, function: Function) -> bool:
    """Recognise `patch = kwargs["patch"]`, `patch = kopf.Patch()` and the patch of an enclosing handler."""
    values = module.values_of(function).get("patch", [])
    if any(re.search(r"""['"]patch['"]|\bPatch\(|\.patch$""", module.text(value)) for value in values):
        return True
    outer = module.function_of(function)
    return not values and outer is not None and "patch" in parameters(outer)


def _fills_status(module: Module, function: Function, name: str) -> bool:
    values = module.values_of(function).get(name, [])
    if any(isinstance(value, ast.Dict) for value in values):
        return False
    for node in module.nodes_in(function):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            targets = [node.func.value]
        if any(subscript_path(module, target, name).startswith("status") for target in targets):
            return True
    return False


def _patch_path(module: Module, node: ast.AST, name: str) -> str:
    """Return the path below kopf's patch; `kwargs["patch"]` is one of its names."""
    if not name.endswith("[patch]"):
        return subscript_path(module, node, name)
    first, _, rest = subscript_path(module, node, name.removesuffix("[patch]")).partition(".")
    return rest if first == "patch" else ""


def _statement(module: Module, function: Function, node: ast.AST, name: str) -> Iterator[PatchWrite]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            path = _patch_path(module, target, name)
            if path:
                yield _write(module, function, node, path, node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        owner = node.func.value
        if node.func.attr == "append" and dotted(owner) == f"{name}.fns":
            yield PatchWrite(node, function, "fns", Body(fields={"status.<function>"}, known=True, version=True), True)
        elif node.func.attr == "update":
            path = _patch_path(module, owner, name)
            if path or (isinstance(owner, ast.Name | ast.Attribute) and dotted(owner) == name):
                yield _write(module, function, node, path, node.args[0])


def _write(module: Module, function: Function, node: ast.AST, path: str, value: ast.expr) -> PatchWrite:
    holder: ast.expr = value
    for part in reversed(path.split(".") if path else []):
        holder = ast.copy_location(ast.Dict([ast.copy_location(ast.Constant(part), value)], [holder]), value)
    body = read_body(module, holder, node)
    if path == "status" and any(name in parameters(function) for name in _names(value) & {"status"}):
        body.status_read = True
    return PatchWrite(node, function, path, body)


def _names(node: ast.AST) -> set[str]:
    """Names spread whole into a dictionary: `{**status, "phase": x}` or `dict(status)`."""
    names: set[str] = set()
    if isinstance(node, ast.Dict):
        names |= {
            value.id
            for key, value in zip(node.keys, node.values, strict=True)
            if key is None and isinstance(value, ast.Name)
        }
    if isinstance(node, ast.Call) and dotted(node.func) == "dict" and node.args and isinstance(node.args[0], ast.Name):
        names.add(node.args[0].id)
    if isinstance(node, ast.Name):
        names.add(node.id)
    return names


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
