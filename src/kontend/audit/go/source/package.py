"""Go packages: files, imports, functions and struct types, each parsed when it is first asked about."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kontend.audit.go.source import syntax
from kontend.audit.go.source.syntax import Node, text

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERSION_SUFFIX = re.compile(r"^v\d+$")


@dataclass(frozen=True, slots=True)
class GoType:
    """A type by name: the import path (or `dir:` and a directory) and the name, and what wraps it."""

    package: str
    name: str
    slice: bool = False
    function: bool = False
    mapping: bool = False

    def element(self) -> GoType:
        """Return the type of an element of a slice, array or map of this."""
        return GoType(self.package, self.name)


@dataclass(eq=False)
class GoFunction:
    """A function or a method with a body."""

    file: GoFile
    node: Node
    name: str
    receiver: str
    receiver_type: str
    parameters: list[tuple[str, Node]]
    results: list[Node]
    type_parameters: dict[str, Node]

    @property
    def body(self) -> Node | None:
        """The block of the function."""
        return self.node.child_by_field_name("body")

    @property
    def exported(self) -> bool:
        """Other packages can call it."""
        return self.name[:1].isupper()

    @property
    def label(self) -> str:
        """The name as people say it: `Reconciler.Reconcile`."""
        return f"{self.receiver_type}.{self.name}" if self.receiver_type else self.name

    def parameter_index(self, name: str) -> int | None:
        """Return the position of a parameter."""
        return next((index for index, (parameter, _) in enumerate(self.parameters) if parameter == name), None)


@dataclass(eq=False)
class GoFile:
    """One Go file: its text, and what is declared in it once somebody asks."""

    path: str
    source: bytes
    directory: str = ""
    recognised: dict[tuple[int, int], object] = field(default_factory=dict, repr=False)
    """The write that each call was found to be, by its bytes; the same calls are asked about many times."""

    @cached_property
    def root(self) -> Node:
        """The syntax tree."""
        return syntax.parse(self.source).root_node

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines of the file."""
        return self.source.split(b"\n")

    @cached_property
    def imports(self) -> dict[str, str]:
        """Local name of each import, to its path."""
        imports: dict[str, str] = {}
        for spec in syntax.captures(self.root, "(import_spec) @spec", "spec"):
            path = text(syntax.field(spec, "path")).strip('"`')
            alias = text(syntax.field(spec, "name")) or _default_name(path)
            imports[alias] = path
        return imports

    @cached_property
    def functions(self) -> list[GoFunction]:
        """Functions and methods, in source order."""
        nodes = syntax.captures(self.root, "[(function_declaration) (method_declaration)] @f", "f")
        return [self._function(node) for node in nodes]

    def _function(self, node: Node) -> GoFunction:
        receiver = receiver_type = ""
        for declaration in syntax.children(syntax.field(node, "receiver")):
            receiver = text(syntax.field(declaration, "name"))
            receiver_type = _bare_name(syntax.field(declaration, "type"))
        results = result_types(node)
        generics: dict[str, Node] = {}
        for declaration in syntax.children(syntax.field(node, "type_parameters")):
            constraint = syntax.field(declaration, "type")
            if constraint is not None:
                generics |= {text(name): constraint for name in declaration.children_by_field_name("name")}
        name = text(syntax.field(node, "name"))
        return GoFunction(self, node, name, receiver, receiver_type, parameters(node), results, generics)

    @cached_property
    def calls_by_name(self) -> dict[str, list[Node]]:
        """Every call of the file by the name called."""
        calls: dict[str, list[Node]] = {}
        for call in syntax.calls(self.root):
            calls.setdefault(syntax.callee(call)[1], []).append(call)
        return calls

    def function_at(self, node: Node) -> GoFunction | None:
        """Return the declared function that a node is in."""
        position = bisect_right(self._starts, node.start_byte) - 1
        if position < 0:
            return None
        function = self.functions[position]
        return function if syntax.inside(node, function.node) else None

    @cached_property
    def _starts(self) -> list[int]:
        return [function.node.start_byte for function in self.functions]

    def type_of_node(self, node: Node | None, generics: Mapping[str, Node] | None = None) -> GoType | None:
        """Turn a type expression into a `GoType`; `generics` maps type parameters to what stands for them."""
        while node is not None and node.type in ("pointer_type", "parenthesized_type", "type_elem", "type_constraint"):
            node = next(iter(syntax.children(node)), None)
        if node is None:
            return None
        if node.type == "generic_type":
            return self.type_of_node(syntax.field(node, "type"), generics)
        if node.type in ("slice_type", "array_type", "map_type"):
            inner = self.type_of_node(syntax.field(node, "element") or syntax.field(node, "value"), generics)
            mapping = node.type == "map_type"
            return GoType(inner.package, inner.name, slice=not mapping, mapping=mapping) if inner else None
        if node.type == "function_type":
            return GoType("", "func", function=True)
        if node.type == "qualified_type":
            alias = text(syntax.field(node, "package"))
            return GoType(self.imports.get(alias, alias), text(syntax.field(node, "name")))
        if node.type == "type_identifier":
            name = text(node)
            if generics and name in generics:
                return self.type_of_node(generics[name])
            return GoType(f"dir:{self.directory}", name)
        return None


def parameters(node: Node) -> list[tuple[str, Node]]:
    """Return the parameters of a function or a function literal with their type nodes, one entry a name."""
    named: list[tuple[str, Node]] = []
    for declaration in syntax.children(syntax.field(node, "parameters")):
        kind = syntax.field(declaration, "type")
        if kind is None:
            continue
        names = declaration.children_by_field_name("name")
        named += [(text(name), kind) for name in names] or [("", kind)]
    return named


def result_types(node: Node) -> list[Node]:
    """Return the types of the results of a function or of a method of an interface, one entry a result."""
    result = syntax.field(node, "result")
    if result is None or result.type != "parameter_list":
        return [] if result is None else [result]
    results: list[Node] = []
    for child in syntax.children(result):
        names = child.children_by_field_name("name")
        results += [syntax.field(child, "type") or child] * max(1, len(names))
    return results


def _bare_name(node: Node | None) -> str:
    while node is not None and node.type in ("pointer_type", "generic_type", "parenthesized_type"):
        node = syntax.field(node, "type") or next(iter(syntax.children(node)), None)
    return text(node)


def _default_name(path: str) -> str:
    parts = path.split("/")
    if len(parts) > 1 and _VERSION_SUFFIX.match(parts[-1]):
        parts.pop()
    return re.sub(r"\.v\d+$", "", parts[-1]).removeprefix("go-")


@dataclass(eq=False)
class GoStruct:
    """A struct or interface type: its fields with their types, and what it embeds."""

    file: GoFile
    name: str
    interface: bool = False
    fields: dict[str, GoType] = field(default_factory=dict)
    embedded: list[GoType] = field(default_factory=list)
    aliased: GoType | None = None
    methods: dict[str, list[Node]] = field(default_factory=dict)
    """An interface: the types of the parameters of each method, and of its results."""
    results: dict[str, list[Node]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    generics: frozenset[str] = frozenset()
    """The type parameters, which stand for any type."""


@dataclass(eq=False)
class GoPackage:
    """The production files of one directory."""

    directory: str
    files: list[GoFile]

    @cached_property
    def functions(self) -> dict[str, list[GoFunction]]:
        """Functions and methods by name."""
        functions: dict[str, list[GoFunction]] = {}
        for file in self.files:
            for function in file.functions:
                functions.setdefault(function.name, []).append(function)
        return functions

    @cached_property
    def types(self) -> dict[str, GoStruct]:
        """Struct and interface types by name; a type alias points to what it names through `embedded`."""
        types: dict[str, GoStruct] = {}
        for file in self.files:
            for spec in syntax.captures(file.root, "[(type_spec) (type_alias)] @t", "t"):
                name, kind = text(syntax.field(spec, "name")), syntax.field(spec, "type")
                if kind is not None:
                    types[name] = _struct(file, name, kind)
                    types[name].generics = frozenset(
                        text(parameter)
                        for declaration in syntax.children(syntax.field(spec, "type_parameters"))
                        for parameter in declaration.children_by_field_name("name")
                    )
        return types

    @cached_property
    def variables(self) -> dict[str, tuple[GoFile, Node]]:
        """Package variables and constants with a value."""
        variables: dict[str, tuple[GoFile, Node]] = {}
        for file in self.files:
            for spec in syntax.captures(file.root, "(source_file [(var_declaration) (const_declaration)] @v)", "v"):
                for inner in syntax.descend(spec, lambda node: node.type in ("var_spec", "const_spec")):
                    names = inner.children_by_field_name("name")
                    values = syntax.children(syntax.field(inner, "value"))
                    for name, value in zip(names, values, strict=False):
                        variables[text(name)] = (file, value)
        return variables


def _struct(file: GoFile, name: str, kind: Node) -> GoStruct:
    made = GoStruct(file, name, interface=kind.type == "interface_type")
    if kind.type == "struct_type":
        for declaration in syntax.captures(kind, "(field_declaration) @f", "f"):
            if syntax.enclosing(declaration, "struct_type") != kind:
                continue
            type_node = syntax.field(declaration, "type")
            field_type = file.type_of_node(type_node)
            names = declaration.children_by_field_name("name")
            for other in names:
                if field_type is not None:
                    made.fields[text(other)] = field_type
                made.tags[text(other)] = text(type_node)
            if not names and field_type is not None:
                made.embedded.append(field_type)
                made.fields[field_type.name] = field_type
    elif kind.type == "interface_type":
        for child in syntax.children(kind):
            if child.type == "type_elem" and (embedded := file.type_of_node(child)) is not None:
                made.embedded.append(embedded)
            elif child.type == "method_elem":
                made.methods[text(syntax.field(child, "name"))] = [kind for _, kind in parameters(child)]
                made.results[text(syntax.field(child, "name"))] = result_types(child)
    elif (aliased := file.type_of_node(kind)) is not None:
        made.aliased = aliased
        made.embedded.append(aliased)
    return made
