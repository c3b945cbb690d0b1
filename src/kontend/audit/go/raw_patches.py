"""The bytes of a raw patch: the expressions that they are built from, and the version that those insist on.

The bytes are followed back through variables and into the functions of the tree that make them. What counts is in the
syntax: a key of a JSON text, a field of a literal, an assignment. Words in comments, in paths such as `/status/test`
and in names of variables decide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.scope import definitions, outermost_function, targets, values
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import container, resolve_function
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Lock, PatchType

_STRINGS = ("interpreted_string_literal", "raw_string_literal")
_BASES = ("MergeFrom", "MergeFromWithOptions", "StrategicMergeFrom")
_DIFFS = (*_BASES, "CreateMergePatch", "CreateTwoWayMergePatch", "CreateThreeWayMergePatch", "CreatePatch", "Data")
_LOCK = "MergeFromWithOptimisticLock"
_VERSION = "resourceVersion"
_VERSION_KEY = re.compile(rf'"{_VERSION}"\s*:')
_TEST_KEY = re.compile(r'"op"\s*:\s*"test"')
_VERSION_PATH = re.compile(r'"/metadata/resourceVersion"')
_CAMEL = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@dataclass(slots=True)
class RawPatch:
    """The nodes that raw patch bytes are built from, and the base of the diff among them."""

    nodes: list[tuple[GoFile, Node]] = field(default_factory=list)
    snapshot: Node | None = None
    known: bool = True

    @property
    def is_diff(self) -> bool:
        """The bytes are the difference of two objects."""
        return any(syntax.callee(call)[1] in _DIFFS for _, node in self.nodes for call in syntax.calls(node))

    def lock(self, workspace: Workspace, kind: PatchType) -> Lock:
        """Return the lock that travels in the bytes."""
        if kind is PatchType.JSON:
            locked = any(_tests(workspace, file, node) for file, node in self.nodes)
        else:
            locked = any(_names_version(node) for _, node in self.nodes)
        return Lock.LOCKED if locked else Lock.UNLOCKED

    def read_list(self, workspace: Workspace) -> tuple[str, Node] | None:
        """Return the path of a list of the status that the bytes send whole and that was read, with the expression that
        reads it: `{"status": {"conditions": w.Status.Conditions}}`, or what was computed from that."""
        sent = {_key(pair[0]) for _, node in self.nodes for pair in _pairs(node)}
        for file, node in self.nodes:
            for inner in syntax.descend(node, lambda inner: inner.type == "selector_expression"):
                parts = syntax.selector(inner)
                if len(parts) < 3 or parts[-2] != "Status" or parts[-1].lower() not in sent:
                    continue
                if container(workspace, file, inner) == "list" or parts[-1] == "Conditions":
                    return f"status.{parts[-1][:1].lower()}{parts[-1][1:]}", inner
        return None


def raw_patch(workspace: Workspace, file: GoFile, data: Node) -> RawPatch:
    """Return what raw patch bytes are built from."""
    made = RawPatch()
    made.known = _collect(workspace, file, data, made, 0)
    return made


def _collect(workspace: Workspace, file: GoFile, node: Node, made: RawPatch, depth: int) -> bool:
    stripped = syntax.strip(node)
    if stripped is None or depth > 6:
        return False
    made.nodes.append((file, stripped))
    for call in syntax.calls(stripped):
        _, name = syntax.callee(call)
        if name in _BASES and made.snapshot is None:
            made.snapshot = next(iter(syntax.arguments(call)), None)
        function = resolve_function(workspace, file, call)
        if function is not None and function.body is not None and depth < 2:
            made.nodes.append((function.file, function.body))
    traced = False
    outer = outermost_function(stripped)
    for identifier in syntax.descend(stripped, lambda child: child.type == "identifier"):
        for definition in definitions(workspace, file, text(identifier), identifier):
            if definition.value is not None:
                traced = _collect(workspace, definition.file, definition.value, made, depth + 1) or traced
        if outer is not None:
            made.nodes += [(file, change) for change in _version_changes(outer).get(text(identifier), ())]
    return traced or stripped.type != "identifier"


def emptied_versions(outer: Node, names: set[str]) -> Iterator[Node]:
    """Yield the statements that take the version of one of these objects away."""
    for name in sorted(names):
        for change in _version_changes(outer).get(name, ()):
            given = syntax.arguments(change) if change.type == "call_expression" else values(change)
            if given and all(map(_empty, given)):
                yield change


@syntax.remembered(256)
def _version_changes(outer: Node) -> dict[str, list[Node]]:
    """Return the statements that give an object its version, by object: `obj.ResourceVersion = v`,
    `obj.SetResourceVersion(v)`."""
    changes: dict[str, list[Node]] = {}
    for statement in syntax.assignments(outer):
        for target in targets(statement):
            if _sets_version(target):
                changes.setdefault(syntax.root_identifier(target), []).append(statement)
    for call in syntax.calls(outer):
        if syntax.callee(call)[1] == "SetResourceVersion":
            changes.setdefault(syntax.root_identifier(syntax.callee(call)[0]), []).append(call)
    return changes


def _names_version(node: Node) -> bool:
    """Decide whether a merge patch carries a resourceVersion."""
    for inner in _leaves(node):
        if inner.type in _STRINGS:
            content = string_content(inner)
            if content == _VERSION or _VERSION_KEY.search(content):
                return True
        elif text(inner) == _LOCK:
            return True
    if any(text(pair[0]) == "ResourceVersion" and not _empty(pair[1]) for pair in _pairs(node)):
        return True
    if any(
        _sets_version(target) and not _empty(value)
        for statement in (*syntax.assignments(node), *([node] if node.type == "assignment_statement" else []))
        for target, value in zip(targets(statement), values(statement), strict=False)
    ):
        return True
    return any(
        syntax.callee(call)[1] == "SetResourceVersion" and not all(map(_empty, syntax.arguments(call)))
        for call in syntax.calls(node)
    )


def _tests(workspace: Workspace, file: GoFile, node: Node) -> bool:
    """Decide whether a JSON patch has a `test` operation, or names the version that it replaces."""
    for inner in _leaves(node):
        if inner.type in _STRINGS:
            content = string_content(inner)
            if _TEST_KEY.search(content) or _VERSION_PATH.search(content) or content == "/metadata/resourceVersion":
                return True
    for key, value in _pairs(node):
        if _key(key) in ("op", "operation") and _constant(workspace, file, value) == "test":
            return True
    for call in syntax.calls(node):
        given = [_constant(workspace, file, argument) for argument in syntax.arguments(call)]
        if "test" in given:  # `jsonpatch.NewOperation("test", path, value)`
            return True
        if "test" in (word.lower() for word in _CAMEL.findall(syntax.callee(call)[1])):  # `patch.WithTest(path, value)`
            return True
    return False


def _pairs(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the keys and values of the composite literals in an expression."""
    for keyed in syntax.captures(node, "(keyed_element) @k", "k"):
        pair = syntax.children(keyed)
        if len(pair) == 2:
            yield pair[0], pair[1]


def _leaves(node: Node) -> Iterator[Node]:
    wanted = (*_STRINGS, "identifier", "field_identifier", "type_identifier")
    return syntax.descend(node, lambda inner: inner.type in wanted)


def _key(node: Node) -> str:
    inner = next(iter(syntax.children(node)), node) if node.type == "literal_element" else node
    return (string_content(inner) if inner.type in _STRINGS else text(inner)).lower()


def _constant(workspace: Workspace, file: GoFile, node: Node, depth: int = 0) -> str:
    """Return the string that an expression stands for: a literal, or a constant of the tree."""
    inner = next(iter(syntax.children(node)), node) if node.type == "literal_element" else node
    if inner.type in _STRINGS:
        return string_content(inner)
    if depth > 3:
        return ""
    if inner.type == "identifier":
        held = workspace.package(file.directory).variables.get(text(inner))
        return _constant(workspace, held[0], held[1], depth + 1) if held is not None else ""
    if inner.type == "selector_expression":
        path = file.imports.get(text(syntax.field(inner, "operand")))
        directory = workspace.directory_of(path, file.directory) if path else None
        name = text(syntax.field(inner, "field"))
        held = workspace.package(directory).variables.get(name) if directory is not None else None
        return _constant(workspace, held[0], held[1], depth + 1) if held is not None else ""
    return ""


def _sets_version(target: Node) -> bool:
    if target.type == "index_expression":
        return any(inner.type in _STRINGS and string_content(inner) == _VERSION for inner in syntax.children(target))
    return target.type == "selector_expression" and text(syntax.field(target, "field")) == "ResourceVersion"


def _empty(node: Node) -> bool:
    inner = next(iter(syntax.children(node)), node) if node.type == "literal_element" else node
    return inner.type in _STRINGS and not string_content(inner)


def string_content(literal: Node) -> str:
    """Return the value of a string literal; escapes other than those of quotes and backslashes stay as they are."""
    quoted = text(literal)[1:-1]
    if literal.type == "raw_string_literal":
        return quoted
    return quoted.replace('\\"', '"').replace("\\\\", "\\")
