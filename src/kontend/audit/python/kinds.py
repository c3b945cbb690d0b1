"""The resource that a Python write is about, from constants and classes rather than from the names of variables.

`plural` in two files may mean two resources, so a variable counts only where it is bound to a string, a class attribute
that holds one, or a constant in capitals. Anything else is not known, and writers of unknown kinds are not compared.
"""

from __future__ import annotations

import ast
import re

from kontend.audit.python.source.module import Module, bindings, constant, dotted

_CONSTANT = re.compile(r"^[A-Z][A-Z0-9_]+$")
_GENERIC = re.compile(
    r"(?i)^(_?api|_?client|resource|obj|object|body|self|cls|item|instance|custom_?resource|\w*_api|\w*client|cr|res)$"
)


def resource_name(module: Module, node: ast.expr | None, use: ast.AST) -> str:
    """Return the plural, the kind or the constant that names a resource, or nothing."""
    if node is None:
        return ""
    if text := constant(node):
        return text
    if isinstance(node, ast.Name):
        values = bindings(module, node.id, use)
        if len(values) == 1 and values[0] is not node and (text := resource_name(module, values[0], values[0])):
            return text
        return node.id if _CONSTANT.match(node.id) else ""
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value).split(".")[-1]
        if owner in ("self", "cls"):
            holder = class_around(module, use)
            return class_constant(holder, node.attr) or own_name(module, holder)
        declared = next((defined for defined in module.classes if defined.name == owner), None)
        if declared is not None and (text := class_constant(declared, node.attr)):
            return text
        return node.attr if _CONSTANT.match(node.attr) else ""
    return ""


def class_around(module: Module, use: ast.AST) -> ast.ClassDef | None:
    """Return the class whose method a node is in."""
    return next((parent for parent in module.above(use) if isinstance(parent, ast.ClassDef)), None)


def own_name(module: Module, holder: ast.ClassDef | None) -> str:
    """Return the name of a class that stands for one resource; a base class stands for those of its subclasses."""
    if holder is None or any(dotted(base) == holder.name for other in module.classes for base in other.bases):
        return ""
    return holder.name


def class_constant(holder: ast.ClassDef | None, name: str) -> str:
    """Return the string that a class assigns to an attribute in its body."""
    for statement in holder.body if holder is not None else ():
        if isinstance(statement, ast.Assign):
            named = any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
            if named and constant(statement.value):
                return constant(statement.value)
    return ""


def object_kind(module: Module, owner: ast.AST, use: ast.AST) -> str:
    """Return the class an object was made by: `cluster = await DaskCluster.get(...)` gives `DaskCluster`."""
    if isinstance(owner, ast.Name):
        if owner.id in ("self", "cls"):
            holder = class_around(module, use)
            return class_constant(holder, "plural") or own_name(module, holder)
        for value in reversed(bindings(module, owner.id, use)):
            inner = value.value if isinstance(value, ast.Await) else value
            name = next((part for part in dotted(inner).split(".") if part[:1].isupper()), "")
            if name and not re.search(r"Api$|Client$", name):
                return name
        return "" if _GENERIC.match(owner.id) else owner.id
    parts = dotted(owner).split(".")
    named = next((part for part in parts if part[:1].isupper()), parts[-1])
    return "" if _GENERIC.match(named) else named
