"""The body of a Python write: the paths it sets and where their values come from.

The body is followed back through local names, nested dictionaries, subscript assignments and `update` calls to answer
four questions: which paths it sets, which of them are lists, whether metadata.resourceVersion is among them, and
whether the status in it is one that was read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kontend.audit.python.source.module import (
    Module,
    bindings,
    constant,
    dotted,
    entries,
    loops,
    parameters,
    root_name,
    unwrapped,
)
from kontend.audit.python.source.reads import is_read, is_read_status

_LISTS = {"conditions", "finalizers", "ownerReferences", "taints", "owner_references"}
_VERSION = ("resourceVersion", "resource_version")
_PARTS = ("status", "metadata", "spec", "meta", "conditions", "finalizers", "data", "labels", "annotations")
_WHOLE_PARTS = ("data", "stringData", "spec", "metadata.labels", "metadata.annotations", "binaryData")


@dataclass(slots=True)
class Body:
    """The known parts of a body.

    `given` maps paths to the parameters of the function that hold their values, `derived` are paths whose value or key
    is computed from parameters; `counters` are paths whose value is
    the old one plus a number; `sent_back` are parts that were read and are sent back whole.
    """

    fields: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)
    rebuilt: set[str] = field(default_factory=set)
    version: bool = False
    stripped: bool = False
    from_read: bool = False
    status_read: bool = False
    parameter: str = ""
    known: bool = False
    literal: bool = False
    operations: list[tuple[str, str]] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)
    derived: set[str] = field(default_factory=set)
    counters: set[str] = field(default_factory=set)
    sent_back: set[str] = field(default_factory=set)
    read_name: str = ""
    line: int = 0
    text: str = ""

    @property
    def parts(self) -> set[str]:
        """The first path element of every field."""
        return {path.split(".")[0] for path in self.fields}

    @property
    def guarded(self) -> bool:
        """The server checks a version or a test before it applies this."""
        if self.operations:
            return any(op == "test" or "resourceVersion" in path for op, path in self.operations)
        return (self.version or self.from_read) and not self.stripped


def read_body(module: Module, node: ast.expr | None, use: ast.AST) -> Body:
    """Analyse the body expression of a call."""
    body = Body(line=getattr(node, "lineno", 0), text=module.text(node))
    if node is not None:
        _value(module, node, "", body, use, 0)
    return body


def _value(module: Module, node: ast.AST, prefix: str, body: Body, use: ast.AST, depth: int) -> None:
    inner = unwrapped(node)
    if inner is None or depth > 8:
        return
    if isinstance(inner, ast.Dict):
        body.literal = body.literal or not prefix
        _dict(module, inner, prefix, body, use, depth)
    elif isinstance(inner, ast.List | ast.Tuple) and not prefix:
        _operations(module, inner, body)
    elif isinstance(inner, ast.Name):
        _name(module, inner, prefix, body, use, depth)
    elif isinstance(inner, ast.Call):
        _call(module, inner, prefix, body, use, depth)
    elif isinstance(inner, ast.DictComp) and prefix:
        _comprehended(module, inner, prefix, body, use)
    elif isinstance(inner, ast.IfExp):
        _value(module, inner.body, prefix, body, use, depth + 1)
        _value(module, inner.orelse, prefix, body, use, depth + 1)
    elif isinstance(inner, ast.BinOp) and not prefix:
        _value(module, inner.left, prefix, body, use, depth + 1)
        _value(module, inner.right, prefix, body, use, depth + 1)
    elif prefix:
        _leaf(module, inner, prefix, body, use)


def _dict(module: Module, node: ast.Dict, prefix: str, body: Body, use: ast.AST, depth: int) -> None:
    body.known = True
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:  # `{**other, ...}`
            if prefix == "status" and is_read(module, value, use):
                body.status_read = True
            _value(module, value, prefix, body, use, depth + 1)
            continue
        name = constant(key) or f"<{module.text(key)}>"
        path = f"{prefix}.{name}" if prefix else name
        if name in _VERSION and prefix.startswith("metadata"):
            body.version = True
            continue
        if prefix.count(".") < 2 and isinstance(unwrapped(value), ast.Dict | ast.DictComp):
            _value(module, value, path, body, use, depth + 1)
            if isinstance(value, ast.Dict) and not value.keys:
                body.fields.add(path)
        elif path == "status" and is_read_status(module, value, use):
            body.status_read = True
            body.fields.add(path)
            body.read_name = root_name(unwrapped(value)) if isinstance(unwrapped(value), ast.Subscript) else ""
        elif path in ("status", "metadata", "spec") and isinstance(unwrapped(value), ast.Name | ast.Call):
            before = len(body.fields)
            _value(module, value, path, body, use, depth + 1)
            if len(body.fields) == before:
                body.fields.add(path)
        else:
            _leaf(module, value, path, body, use)


def _comprehended(module: Module, node: ast.DictComp, prefix: str, body: Body, use: ast.AST) -> None:
    """`{k: v for k, v in job["status"].items() if ...}` sends what the function put into `job["status"]` before."""
    body.known = True
    for generator in node.generators:
        root = dotted(generator.iter).split(".")[0]
        for path, value, where in changes(module, root, use):
            if path.startswith(prefix + "."):
                _leaf(module, value, path, body, where)
    if not any(path.startswith(prefix + ".") for path in body.fields):
        body.fields.add(prefix)


def _leaf(module: Module, value: ast.AST, path: str, body: Body, use: ast.AST) -> None:
    body.fields.add(path)
    name = path.split(".")[-1]
    function = module.function_of(use)
    if isinstance(value, ast.Name) and function is not None and value.id in parameters(function):
        body.given[path] = value.id
    elif function is not None and _from_parameters(module, value, path, parameters(function), use):
        body.derived.add(path)
    if _increments(module, value, name, use):
        body.counters.add(path)
    if path in _WHOLE_PARTS and is_read(module, value, use) and _edited(module, value, name, use):
        body.sent_back.add(path)
    built = isinstance(value, ast.List | ast.ListComp) or (isinstance(value, ast.BinOp) and _has_list(value))
    if name in _LISTS or built:
        body.lists.add(path)
        if is_read(module, value, use) and not _projected(value):
            body.rebuilt.add(path)


def _projected(value: ast.AST) -> bool:
    """Decide whether a comprehension makes new elements from what it reads: `[{"name": r["name"]} for r in rs]`."""
    if not isinstance(value, ast.ListComp) or not isinstance(value.elt, ast.Dict):
        return False
    loop = {
        name.id for generator in value.generators for name in ast.walk(generator.target) if isinstance(name, ast.Name)
    }
    return not any(isinstance(kept, ast.Name) and kept.id in loop for kept in value.elt.values)


def _from_parameters(module: Module, value: ast.AST, path: str, names: list[str], use: ast.AST) -> bool:
    """Decide whether a value, the last key of its path, or what was put into it before is made from parameters."""
    handed = {name for name in names if name not in ("self", "cls", "logger")}
    if not handed:
        return False
    if path.endswith(">") and path.rpartition("<")[2].rstrip(">") in handed:
        return True
    parts: list[ast.AST] = [value]
    if isinstance(value, ast.Name):
        parts += [*bindings(module, value.id, use), *(part for _, part, _ in changes(module, value.id, use))]
    return any(isinstance(inner, ast.Name) and inner.id in handed for part in parts for inner in ast.walk(part))


def _edited(module: Module, value: ast.AST, part: str, use: ast.AST) -> bool:
    """Decide whether a part that was read is changed before it is sent back: `cm.data["a"] = "1"`."""
    inner = unwrapped(value)
    root = root_name(inner)
    if isinstance(inner, ast.Name):
        return any(path for path, _, _ in changes(module, root, use))
    return bool(root) and any(part in path.split(".") for path, _, _ in changes(module, root, use))


def _increments(module: Module, value: ast.AST, name: str, use: ast.AST) -> bool:
    """Recognise `failures + 1`: the same field, read before, plus a number."""
    inner = unwrapped(value)
    if isinstance(inner, ast.Name):
        increments = bindings(module, inner.id, use)
        inner = unwrapped(increments[-1]) if increments and increments[-1] is not inner else inner
    if not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Add | ast.Sub):
        return False
    if not (isinstance(inner.right, ast.Constant) and isinstance(inner.right.value, int | float)):
        return False
    wanted = re.sub(r"[^a-z0-9]", "", name.lower())
    words = [re.sub(r"[^a-z0-9]", "", part.lower()) for part in re.findall(r"\w+", module.text(inner.left))]
    stem = wanted.removesuffix("s").removesuffix("count")
    return len(stem) > 2 and any(word == wanted or word.endswith(wanted) or word.startswith(stem) for word in words)


def _has_list(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.List | ast.ListComp) for inner in ast.walk(node))


def _name(module: Module, node: ast.Name, prefix: str, body: Body, use: ast.AST, depth: int) -> None:
    function = module.function_of(use)
    values = bindings(module, node.id, use)
    if not values and function is not None and node.id in parameters(function):
        if not prefix:
            body.parameter = node.id
        else:
            body.fields.add(prefix)
            body.given[prefix] = node.id
    if not prefix and any(is_read(module, source, use) for source in loops(module, node.id, use)):
        body.from_read, body.known = True, True  # an element of a list carries its own version
    for value in values:
        body.line = body.line or value.lineno
        if value is node:
            continue
        if not prefix and not isinstance(unwrapped(value), ast.Dict | ast.List) and is_read(module, value, value):
            body.from_read, body.known = True, True
        _value(module, value, prefix, body, value, depth + 1)
    for path, value, where in changes(module, node.id, use):
        full = f"{prefix}.{path}" if prefix and path else path or prefix
        if path == "<operations>":
            _operations(module, value, body)
        elif full.endswith(_VERSION):
            body.version = True
        elif path:
            body.known = True
            if full == "status" and is_read_status(module, value, where):
                body.status_read = True
            inner = unwrapped(value)
            if isinstance(inner, ast.Dict) and full.count(".") < 2:
                _dict(module, inner, full, body, where, depth + 1)
            else:
                _leaf(module, value, full, body, where)
    if _strips_version(module, node.id, use):
        body.stripped = True


def changes(module: Module, name: str, use: ast.AST) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """Yield what is put into the dictionary called `name` before a use: `x["status"]["phase"] = v`,
    `x.update({...})`, `x.append({...})`."""
    scope: ast.AST = module.function_of(use) or module.tree
    line = getattr(use, "lineno", 0)
    for node in module.changes_before(scope, name, line):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                path = subscript_path(module, target, name)
                if path:
                    yield path, node.value, node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            method = node.func.attr
            owner = node.func.value
            path = subscript_path(module, owner, name)
            whole = isinstance(owner, ast.Name) and owner.id == name
            if method == "update" and (whole or path) and isinstance(node.args[0], ast.Dict):
                for key, value in zip(node.args[0].keys, node.args[0].values, strict=True):
                    if key is not None:
                        yield ".".join(filter(None, (path, constant(key) or "<dynamic>"))), value, node
            elif method in ("append", "extend", "insert") and whole:
                yield "<operations>", node.args[-1], node
            elif method in ("append", "extend", "insert") and path:
                yield (
                    path,
                    ast.copy_location(ast.BinOp(ast.List([], ast.Load()), ast.Add(), node.func.value), node),
                    node,
                )


def subscript_path(module: Module, node: ast.AST, name: str) -> str:
    """Return `status.phase` for `name["status"]["phase"]`, `name.status["phase"]`, `name.setdefault("status",
    {})["phase"]`."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Subscript):
            parts.append(constant(node.slice) or f"<{module.text(node.slice)}>")
            node = node.value
        elif isinstance(node, ast.Attribute) and node.attr in _PARTS:
            parts.append("metadata" if node.attr == "meta" else node.attr)
            node = node.value
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("setdefault", "get")
            and node.args
        ):
            parts.append(constant(node.args[0]) or "<dynamic>")
            node = node.func.value
        elif isinstance(node, ast.Name | ast.Attribute):
            return ".".join(reversed(parts)) if dotted(node) == name else ""
        else:
            return ""


def _strips_version(module: Module, name: str, use: ast.AST) -> bool:
    scope: ast.AST = module.function_of(use) or module.tree
    line = getattr(use, "lineno", 0)
    for node in module.changes_before(scope, name, line):
        if isinstance(node, ast.Delete) and any(
            subscript_path(module, target, name).endswith(_VERSION) for target in node.targets
        ):
            return True
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "pop"
            and node.args
        ):
            owner = subscript_path(module, node.func.value, name)
            if owner == "metadata" and constant(node.args[0]) in _VERSION:
                return True
        emptied = isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and not node.value.value
        if emptied and any(_attribute_version(target, name) for target in getattr(node, "targets", ())):
            return True
    return False


def _attribute_version(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _VERSION and dotted(node).split(".")[0] == name


def _operations(module: Module, node: ast.AST, body: Body) -> None:
    """Collect JSON patch operations from dictionaries with `op` and `path`."""
    for inner in ast.walk(node):
        pairs = entries(inner)
        if "op" in pairs and "path" in pairs:
            body.known = True
            path = pairs["path"]
            shown = constant(path) or module.text(path)
            body.operations.append((constant(pairs["op"]), shown))
            clean = re.sub(r"^f?['\"]|['\"]$", "", shown).strip("/")
            if clean and constant(pairs["op"]) != "test":
                body.fields.add(".".join(clean.split("/")[:2]))
                function = module.function_of(path)
                if function is not None and "value" in pairs:
                    value, names = pairs["value"], parameters(function)
                    if _from_parameters(module, value, "", names, value):
                        body.derived.add(".".join(clean.split("/")[:2]))
                if "value" in pairs and _increments(module, pairs["value"], clean.split("/")[-1], pairs["value"]):
                    body.counters.add(".".join(clean.split("/")[:2]))


def _call(module: Module, node: ast.Call, prefix: str, body: Body, use: ast.AST, depth: int) -> None:
    name = dotted(node.func).split(".")[-1]
    if not prefix and is_read(module, node, use):
        body.from_read, body.known = True, True
        return
    if name == "dict" and not node.args:
        keys: list[ast.expr | None] = [
            ast.copy_location(ast.Constant(keyword.arg), node) if keyword.arg else None for keyword in node.keywords
        ]
        _dict(
            module,
            ast.copy_location(ast.Dict(keys, [keyword.value for keyword in node.keywords]), node),
            prefix,
            body,
            use,
            depth,
        )
        return
    if name in ("dumps", "encode") and (node.args or isinstance(node.func, ast.Attribute)):
        inner = node.args[0] if node.args else getattr(node.func, "value", node)
        _value(module, inner, prefix, body, use, depth + 1)
        return
    if name[:1].isupper() and node.keywords:  # a typed model: V1Pod(metadata=..., status=...)
        body.known = True
        for keyword in node.keywords:
            if keyword.arg is None:
                continue
            path = f"{prefix}.{keyword.arg}" if prefix else keyword.arg
            if keyword.arg in _VERSION:
                body.version = True
            elif prefix.count(".") < 2 and isinstance(keyword.value, ast.Call):
                _value(module, keyword.value, path, body, use, depth + 1)
                body.fields.add(path)
            elif keyword.arg not in ("api_version", "kind", "name", "namespace"):
                _leaf(module, keyword.value, path, body, use)
        return
    if prefix:
        _leaf(module, node, prefix, body, use)
