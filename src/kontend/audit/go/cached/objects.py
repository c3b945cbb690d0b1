"""Cached objects that are changed in place, wherever the change is: beside the read, in a callee, or in a caller.

From each source the object is followed forwards: to other names, into the functions that it is passed to, to the
callers of the functions that return it. Only the changes are looked for; whether a write follows does not matter,
because every other reader of the cache sees the change at once.

Starting from the writes, as the other analyses do, missed all five of the fixes of such bugs that this was tried on:
the change is often in a helper that fills in defaults, for an object that is only read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kontend.audit.go.cached.changes import Seen, Shape, Use, is_copy, uses
from kontend.audit.go.cached.sources import WORTH_READING, event_handlers, reads_cache, shared_parameter
from kontend.audit.go.calls.recognition import CONTROLLER_CLIENT, recognise
from kontend.audit.go.calls.write import Dialect
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction, parameters
from kontend.audit.go.source.scope import function_around, outermost_function, targets
from kontend.audit.go.source.syntax import Node, line, text
from kontend.audit.go.source.types import callers, only_implementation, resolve_function
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Fact, Notice, Role

_RULE = "cached-object-changed"
_DEEP = 4
_UPWARDS = 3
_ALIASES = 6
_DECODES = ("Update", "Patch", "Create", "UpdateStatus")
_SETTERS = {
    "controllerutil": {
        "AddFinalizer": 0,
        "RemoveFinalizer": 0,
        "SetControllerReference": 1,
        "SetOwnerReference": 1,
        "RemoveOwnerReference": 1,
    },
    "meta": {"SetStatusCondition": 0, "RemoveStatusCondition": 0},
    "v1": {"SetMetaDataLabel": 0, "SetMetaDataAnnotation": 0},
    "conditions": {"Set": 0, "MarkTrue": 0, "MarkFalse": 0, "Delete": 0},
}
"""Functions of the libraries that all controllers use, and the argument that each changes; by the package's last
segment, because projects import them under several paths. Functions of the audited tree are read instead."""


@dataclass(eq=False)
class CachedObjects:
    """The search through one workspace, with what is known of its functions."""

    workspace: Workspace
    roles: dict[str, Role]
    _changing: dict[tuple[tuple[str, int], int], str] = field(default_factory=dict)
    _returning: dict[tuple[tuple[str, int], int], bool] = field(default_factory=dict)
    _told: set[tuple[str, int]] = field(default_factory=set)
    _followed: set[tuple[str, int, int, str]] = field(default_factory=set)

    def notices(self) -> list[Notice]:
        """Return a notice for each object of a cache that is changed, once for each variable that holds it."""
        found: list[Notice] = []
        for path in sorted(self.workspace.files):
            file = self.workspace.files[path]
            if self.roles.get(path, Role.PRODUCTION) is Role.PRODUCTION and WORTH_READING.search(file.source):
                found += self._of_file(file)
            self.workspace.settle()
        return found

    def _of_file(self, file: GoFile) -> Iterator[Notice]:
        for call in syntax.calls(file.root):
            if reads_cache(self.workspace, file, call) and outermost_function(call) is not None:
                said = f"comes from the cache at {file.path}:{line(call)}"
                shape = Shape.LIST if syntax.callee(call)[1] in ("List", "ByIndex", "Index") else Shape.OBJECT
                yield from self._result(file, call, shape, said, 0)
        for place, function in event_handlers(self.workspace, file):
            body = function.child_by_field_name("body")
            said = f"is given by the informer to {_named(place, function)}, at {place.path}:{line(function)}"
            for name, _ in parameters(function):
                if body is not None and name and name != "_":
                    yield from self._variable(place, body, name, function, Shape.OBJECT, said, 0)

    def _result(self, file: GoFile, call: Node, shape: Shape, said: str, up: int) -> Iterator[Notice]:
        """Follow what a call returns: into a variable, a loop, or straight to the caller of the function around it."""
        node = call
        while node.parent is not None and node.parent.type in ("parenthesized_expression", "type_assertion_expression"):
            node = node.parent
        holder = node.parent
        statement = holder.parent if holder is not None and holder.type == "expression_list" else holder
        body = outermost_function(call)
        if statement is None or body is None:
            return
        if statement.type == "return_statement":
            yield from self._to_callers(file, statement, 0, shape, said, up)
        elif statement.type in ("short_var_declaration", "assignment_statement", "var_spec"):
            named = targets(statement)
            if named and named[0].type == "identifier" and not is_copy(node):
                yield from self._variable(file, body, text(named[0]), statement, shape, said, up)
        elif statement.type == "range_clause" and shape is Shape.LIST and len(targets(statement)) == 2:
            yield from self._variable(file, body, text(targets(statement)[1]), statement, Shape.OBJECT, said, up)

    def _variable(
        self, file: GoFile, body: Node, name: str, made: Node, shape: Shape, said: str, up: int, aliases: int = 0
    ) -> Iterator[Notice]:
        """Follow one variable through its function: its first change is the notice."""
        key = (file.path, made.start_byte, made.end_byte, name)
        if name == "_" or key in self._followed or aliases > _ALIASES:
            return
        self._followed.add(key)
        told = False
        for seen in uses(self.workspace, file, body, name, made, shape):
            how = self._change(file, seen, 0)
            if how is not None and not told:
                told = True
                yield from self._notice(file, seen.node, f"{name} {said} and {how}")
            elif seen.use is Use.ALIASED:
                other = text(targets(seen.node)[seen.position])
                yield from self._variable(file, body, other, seen.node, seen.shape, said, up, aliases + 1)
            elif seen.use is Use.RETURNED:
                yield from self._to_callers(file, seen.node, seen.position, seen.shape, said, up)
            elif seen.use is Use.PASSED and self._hands_back(file, seen):
                yield from self._result(file, seen.node, seen.shape, said, up)

    def _hands_back(self, file: GoFile, seen: Seen) -> bool:
        """Decide whether a function returns the object that it is given, as conversions that may do nothing do."""
        function = resolve_function(self.workspace, file, seen.node)
        if function is None or function.body is None or seen.position >= len(function.parameters):
            return False
        key = (function.key, seen.position)
        if key not in self._returning:
            name = function.parameters[seen.position][0]
            found = uses(self.workspace, function.file, function.body, name, function.node, seen.shape)
            self._returning[key] = any(use.use is Use.RETURNED and use.position == 0 for use in found)
        return self._returning[key]

    def _to_callers(
        self, file: GoFile, statement: Node, position: int, shape: Shape, said: str, up: int
    ) -> Iterator[Notice]:
        function = file.function_at(statement)
        if function is None or up >= _UPWARDS or position or function_around(statement) != function.node:
            return
        if _returns_copy(function):
            return  # `if err == nil { return obj.DeepCopy(), nil }; return obj, err` hands out no object of the cache
        for other, call in callers(self.workspace, function):
            production = self.roles.get(other.path, Role.PRODUCTION) is Role.PRODUCTION
            if production and only_implementation(self.workspace, other, call, function):
                yield from self._result(other, call, shape, f"{said} and is returned by {function.label}", up + 1)

    def _notice(self, file: GoFile, node: Node, said: str) -> Iterator[Notice]:
        if (file.path, line(node)) in self._told:
            return
        self._told.add((file.path, line(node)))
        function = file.function_at(node)
        statement = node.parent if node.parent is not None and node.type != "call_expression" else node
        code = " ".join(text(statement).split())
        fact = Fact(_RULE, line(node), said)
        role = self.roles.get(file.path, Role.PRODUCTION)
        yield Notice(file.path, line(node), line(node), function.label if function else "", code[:200], fact, role)

    def _change(self, file: GoFile, seen: Seen, depth: int) -> str | None:
        """Say how a use changes the object, or None where it does not."""
        if seen.use is Use.CHANGED:
            return f"is changed at :{line(seen.node)}"
        if seen.use is Use.PASSED:
            return self._by_callee(file, seen, depth)
        if seen.use is Use.CALLED:
            return self._by_method(file, seen, depth)
        return None

    def _by_callee(self, file: GoFile, seen: Seen, depth: int) -> str | None:
        call = seen.node
        write = recognise(self.workspace, file, call)
        if write is not None:
            decodes = write.dialect is Dialect.CONTROLLER and write.method in _DECODES and seen.whole
            into = f"{write.method} at :{line(call)} decodes the server's answer into it"
            return (
                into
                if decodes and write.object is not None and syntax.arguments(call)[seen.position] == write.object
                else None
            )
        function = resolve_function(self.workspace, file, call)
        if function is not None and function.body is not None:
            if seen.position >= len(function.parameters) or not shared_parameter(
                self.workspace, function, seen.position
            ):
                return None
            name = function.parameters[seen.position][0]
            place = self._changed_in(function, name, seen.position, seen.shape, depth + 1)
            return f"is passed to {function.label} at :{line(call)}, which changes it at {place}" if place else None
        operand, called = syntax.callee(call)
        package = file.imports.get(text(operand), "").rsplit("/", 1)[-1] if operand is not None else ""
        if _SETTERS.get(package, {}).get(called) == seen.position:
            return f"is changed by {called} at :{line(call)}"
        if operand is not None and called == "Get" and seen.position == 2 and self._is_controller_client(file):
            return f"is read into by {called} at :{line(call)}"
        return None

    def _is_controller_client(self, file: GoFile) -> bool:
        return CONTROLLER_CLIENT in file.imports.values()

    def _by_method(self, file: GoFile, seen: Seen, depth: int) -> str | None:
        call = seen.node
        _, called = syntax.callee(call)
        function = resolve_function(self.workspace, file, call)
        if function is not None and function.body is not None:
            receiver = next(iter(syntax.children(syntax.field(function.node, "receiver"))), None)
            kind = syntax.field(receiver, "type")
            if kind is None or kind.type != "pointer_type" or not function.receiver:
                return None
            place = self._changed_in(function, function.receiver, -1, Shape.OBJECT, depth + 1)
            return f"its method {called} changes it at {place}" if place else None
        # Accessors of metav1.Object and of unstructured objects; what is in sight was read above.
        setter = called.startswith("Set") and called[3:4].isupper() and bool(syntax.arguments(call))
        return f"is changed by {called} at :{line(call)}" if setter and seen.whole else None

    def _changed_in(self, function: GoFunction, name: str, position: int, shape: Shape, depth: int) -> str:
        """Return the place at which a function changes the object in a parameter or its receiver, or nothing."""
        key = (function.key, position)
        if depth > _DEEP or not name or name == "_" or function.body is None:
            return ""
        if key not in self._changing:
            self._changing[key] = ""  # a function that calls itself changes what its other statements change
            self._changing[key] = self._first_change(function, name, function.node, shape, depth, 0)
        return self._changing[key]

    def _first_change(self, function: GoFunction, name: str, made: Node, shape: Shape, depth: int, aliases: int) -> str:
        if function.body is None or aliases > _ALIASES:
            return ""
        for seen in uses(self.workspace, function.file, function.body, name, made, shape):
            if self._change(function.file, seen, depth) is not None:
                return f"{function.file.path}:{line(seen.node)}"
            if seen.use is Use.ALIASED:
                other = text(targets(seen.node)[seen.position])
                if other not in ("_", name):
                    place = self._first_change(function, other, seen.node, seen.shape, depth, aliases + 1)
                    if place:
                        return place
        return ""


def _returns_copy(function: GoFunction) -> bool:
    """Decide whether a function returns a copy anywhere: then its authors know whose object it is."""
    for statement in syntax.captures(function.node, "(return_statement) @r", "r"):
        first = next(iter(syntax.children(next(iter(syntax.children(statement)), None))), None)
        if first is not None and is_copy(first):
            return True
    return False


def _named(file: GoFile, function: Node) -> str:
    around = file.function_at(function.child_by_field_name("body") or function)
    return around.label if around is not None else "a handler"
