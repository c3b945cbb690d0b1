"""Go packages: files, imports, functions and struct types, each parsed when it is first asked about."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from kontend.audit.go.source import syntax
from kontend.audit.go.source.syntax import Node, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")
U = TypeVar("U")

_FUNCTIONS = re.compile(rb"^func\s*(?:\([^)]*\)\s*)?(\w+)", re.MULTILINE)
_NAMES = re.compile(rb"^(?:type|var|const)?[ \t]+(\w+(?:[ \t]*,[ \t]*\w+)*)", re.MULTILINE)
_TEXTS = 16_000_000
"""Bytes of text that are kept; a text that is needed again is read again."""
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


_PREDECLARED = re.compile(
    r"any|bool|byte|comparable|complex(64|128)|error|float(32|64)|u?int(8|16|32|64)?|uintptr|rune|string"
)
"""The types that Go's specification declares in every package; a package that declares one again is not understood."""
FunctionKey = tuple[str, int]
"""The path of a function's file and the byte it starts at."""


def is_predeclared(name: str) -> bool:
    """Decide whether a name is one of the types that every package has.

    >>> is_predeclared("uint8"), is_predeclared("Widget")
    (True, False)
    """
    return _PREDECLARED.fullmatch(name) is not None


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

    @property
    def key(self) -> FunctionKey:
        """The function across parses of its file."""
        return self.file.path, self.node.start_byte

    def parameter_index(self, name: str) -> int | None:
        """Return the position of a parameter."""
        return next((index for index, (parameter, _) in enumerate(self.parameters) if parameter == name), None)


@dataclass(slots=True)
class Memory:
    """Texts that were read lately, and the bytes of source that are held as trees."""

    parsed: int = 0
    _texts: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    _held: int = 0

    def text(self, path: str) -> bytes:
        """Return the text of a file on disk; nothing for one that has gone since the tree was walked."""
        text = self._texts.get(path)
        if text is not None:
            self._texts.move_to_end(path)
            return text
        try:
            text = Path(path).read_bytes()
        except OSError:
            text = b""
        self._texts[path] = text
        self._held += len(text)
        while self._held > _TEXTS and len(self._texts) > 1:
            self._held -= len(self._texts.popitem(last=False)[1])
        return text


@dataclass(eq=False)
class GoFile:
    """One Go file: its text, and what is declared in it once somebody asks.

    `given` is the text; None stands for the file at `path`, which is read again after it was forgotten.
    """

    path: str
    given: bytes | None
    directory: str = ""
    recognised: dict[tuple[int, int], object] = field(default_factory=dict, repr=False)
    """The write that each call was found to be, by its bytes; the same calls are asked about many times."""
    memory: Memory = field(default_factory=Memory, repr=False)
    _calls: dict[str, list[Node]] = field(default_factory=dict, repr=False)

    @property
    def source(self) -> bytes:
        """The text of the file."""
        return self.given if self.given is not None else self.memory.text(self.path)

    @cached_property
    def root(self) -> Node:
        """The syntax tree."""
        source = self.source
        self.memory.parsed += len(source)
        return syntax.parse(source).root_node

    def forget(self) -> None:
        """Drop the tree and all that was made from it."""
        for name in ("root", "lines", "functions", "type_specs", "_starts", "function_names", "leading_names"):
            self.__dict__.pop(name, None)
        self.recognised.clear()
        self._calls.clear()

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

    def calls_of(self, name: str) -> list[Node]:
        """Return the calls of a name, in source order: found in the text first, because most of them are never asked
        about."""
        if name in self._calls:
            return self._calls[name]
        found: list[Node] = self._calls.setdefault(name, [])
        for match in re.finditer(rb"\b%s\b(?=\s*[\[(])" % re.escape(name.encode()), self.source):
            node = self.root.descendant_for_byte_range(match.start(), match.end())
            for _ in range(4):
                node = node.parent if node is not None else None
                if node is not None and node.type in syntax.CALL_TYPES:
                    break
            called = node is not None and node.type in syntax.CALL_TYPES and syntax.callee(node)[1] == name
            if node is not None and called and node not in found[-1:]:
                found.append(node)
        return found

    @cached_property
    def type_specs(self) -> dict[str, Node]:
        """The declarations of types by name."""
        specs = syntax.captures(self.root, "[(type_spec) (type_alias)] @t", "t")
        return {text(syntax.field(spec, "name")): spec for spec in specs}

    @cached_property
    def function_names(self) -> frozenset[bytes]:
        """The names of functions and methods, read from the text before anything is parsed."""
        return frozenset(_FUNCTIONS.findall(self.source))

    @cached_property
    def leading_names(self) -> frozenset[bytes]:
        """The names that may be declared as types, variables and constants, read from the text: some are fields."""
        return frozenset(name for names in _NAMES.findall(self.source) for name in names.replace(b" ", b"").split(b","))

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
            return GoType("" if is_predeclared(name) else f"dir:{self.directory}", name)
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


class Declarations(Generic[T]):
    """Declarations of a package by name, made when they are first asked for.

    Only the files whose text has the name in such a place are parsed: a package of generated types is large, and most
    of it is never asked about.
    """

    def __init__(self, find: Callable[[str], T | None]) -> None:
        """Find declarations with a function of their names."""
        self._find = find
        self._known: dict[str, T | None] = {}

    @overload
    def get(self, name: str) -> T | None: ...
    @overload
    def get(self, name: str, default: U) -> T | U: ...
    def get(self, name: str, default: U | None = None) -> T | U | None:
        """Return the declaration of a name, or the default."""
        if name not in self._known:
            self._known[name] = self._find(name)
        known = self._known[name]
        return default if known is None else known

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None


@dataclass(eq=False)
class GoPackage:
    """The production files of one directory."""

    directory: str
    files: list[GoFile]

    @cached_property
    def functions(self) -> Declarations[list[GoFunction]]:
        """Functions and methods by name."""
        return Declarations(self._functions)

    @cached_property
    def types(self) -> Declarations[GoStruct]:
        """Struct and interface types by name; a type alias points to what it names through `embedded`."""
        return Declarations(self._type)

    @cached_property
    def variables(self) -> Declarations[tuple[GoFile, Node]]:
        """Package variables and constants with a value."""
        return Declarations(self._variable)

    def _functions(self, name: str) -> list[GoFunction] | None:
        holding = [file for file in self.files if name.encode() in file.function_names]
        return [function for file in holding for function in file.functions if function.name == name] or None

    def _type(self, name: str) -> GoStruct | None:
        made = None
        for file in self.files:
            spec = file.type_specs.get(name) if name.encode() in file.leading_names else None
            kind = syntax.field(spec, "type")
            if spec is not None and kind is not None:
                made = _struct(file, name, kind)
                made.generics = frozenset(
                    text(parameter)
                    for declaration in syntax.children(syntax.field(spec, "type_parameters"))
                    for parameter in declaration.children_by_field_name("name")
                )
        return made

    def _variable(self, name: str) -> tuple[GoFile, Node] | None:
        found = None
        for file in self.files:
            if name.encode() not in file.leading_names:
                continue
            for spec in syntax.captures(file.root, "(source_file [(var_declaration) (const_declaration)] @v)", "v"):
                for inner in syntax.descend(spec, lambda node: node.type in ("var_spec", "const_spec")):
                    names = inner.children_by_field_name("name")
                    values = syntax.children(syntax.field(inner, "value"))
                    for each, value in zip(names, values, strict=False):
                        if text(each) == name:
                            found = (file, value)
        return found


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
