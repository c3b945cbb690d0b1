"""Reads of Go code that go to the API server instead of the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from kontend.explanation.change import Change
from kontend.explanation.edits import Edit
from kontend.explanation.go.calls import CLIENT, READS, insertion, new_change, receiver_of, request_of
from kontend.explanation.go.source import GoSource, around, below
from kontend.explanation.remedies import Remedy

#: The name of the reader in a struct that has none.
_NAME: Final = "liveReader"


def live_read(source: GoSource, node: Node) -> Iterator[Change]:
    """Read from the server: with the reader that the struct of the method has, or with one that is added to it."""
    reads = _reads(source, node)
    if reads is None:
        return
    kind, edits_of = reads
    for field, added in _readers(source, kind):
        yield new_change(Remedy.READ_LIVE, source, edits_of(field), *added)


def live_reads(source: GoSource, function: Node) -> Iterator[Change]:
    """Read from the server everything that a method reads."""
    found = [reads for node in below(function, "call_expression") if (reads := _reads(source, node)) is not None]
    if len(found) > 1:
        for field, added in _readers(source, found[0][0]):
            yield new_change(Remedy.READ_LIVE, source, *(edits_of(field) for _, edits_of in found), *added)


class _Read:
    """A read with the client of the receiver, and the edit that makes another reader of the receiver read it."""

    def __init__(self, this: str, callee: Node, name: str) -> None:
        self._this, self._callee, self._name = this, callee, name

    def __call__(self, field: str) -> Edit:
        return Edit(self._callee.start_byte, self._callee.end_byte, f"{self._this}.{field}.{self._name}")


def _reads(source: GoSource, node: Node) -> tuple[str, _Read] | None:
    receiver, name, given = request_of(source, node, READS)
    function = next((each for each in around(node) if each.type == "method_declaration"), None)
    if not given or function is None:
        return None
    this, kind = receiver_of(source, function)
    callee = node.child_by_field_name("function")
    if not this or callee is None or receiver not in (this, *(f"{this}.{field}" for field in _clients(source, kind))):
        return None
    return kind, _Read(this, callee, name)


def _clients(source: GoSource, kind: str) -> Iterator[str]:
    """Yield the names under which a struct of this file keeps its client."""
    package = source.imports.get(CLIENT, "client")
    for names, of in _fields(source, kind):
        if of == f"{package}.Client":
            yield from names or ("Client",)


def _readers(source: GoSource, kind: str) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """Yield the fields with which a struct reads from the server, each with the edits that make it."""
    package = source.imports.get(CLIENT, "client")
    found = [name for names, of in _fields(source, kind) if of == f"{package}.Reader" for name in names]
    if found:
        yield from ((name, ()) for name in found)
    elif added := _added_reader(source, kind, package):
        yield _NAME, added


def _added_reader(source: GoSource, kind: str, package: str) -> tuple[Edit, ...]:
    """Return the edits that add a reader to a struct, and set it where the struct is added to a manager."""
    struct = _struct(source, kind)
    setup = next(_setups(source, kind), None)
    if struct is None or setup is None or struct.start_point.row == struct.end_point.row:
        return ()
    this, manager, body = setup
    comment = f"\t// {_NAME} reads from the API server, not from the cache.\n"
    field = insertion(struct.end_byte - 1, f"\n{comment}\t{_NAME} {package}.Reader\n")
    return field, insertion(body.start_byte + 1, f"\n\t{this}.{_NAME} = {manager}.GetAPIReader()")


def _setups(source: GoSource, kind: str) -> Iterator[tuple[str, str, Node]]:
    """Yield the methods of a type that are given a manager: the names of both, and the body."""
    for function in source.functions():
        body = function.child_by_field_name("body")
        this, of = receiver_of(source, function) if function.type == "method_declaration" else ("", "")
        is_pointer = next(below(function.child_by_field_name("receiver") or function, "pointer_type"), None) is not None
        parameters = function.child_by_field_name("parameters")
        if of != kind or not is_pointer or body is None or parameters is None:
            continue
        for parameter in parameters.named_children:
            name, given = parameter.child_by_field_name("name"), parameter.child_by_field_name("type")
            if name is not None and given is not None and source.text(given).rpartition(".")[2] == "Manager":
                yield this, source.text(name), body


def _struct(source: GoSource, kind: str) -> Node | None:
    """Return the braces of a struct of this file."""
    for spec in below(source.root, "type_spec"):
        name = spec.child_by_field_name("name")
        if name is not None and source.text(name) == kind:
            return next(below(spec, "field_declaration_list"), None)
    return None


def _fields(source: GoSource, kind: str) -> Iterator[tuple[list[str], str]]:
    """Yield the fields of a struct of this file: their names, none for one that is embedded, and their type."""
    struct = _struct(source, kind)
    for declared in struct.named_children if struct is not None else ():
        of = declared.child_by_field_name("type")
        if of is not None:
            yield [source.text(name) for name in declared.children_by_field_name("name")], source.text(of)
