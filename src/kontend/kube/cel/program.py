"""From a checked tree to Python closures: one small function for each node, over a list of variables.

Static types choose the code: ``self.a < 3`` compiles to a comparison of Python integers, and only values of type
``dyn`` go through the functions that look at types. JSON is read as it is; where CEL sees something else (a time in a
string) the conversion is put at the place where the value is read, so that a rule pays only for what it touches.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from kontend.kube.cel import library_collections, library_kubernetes  # noqa: F401  (they register functions)
from kontend.kube.cel.ast import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Node, Select
from kontend.kube.cel.checker import qualified_name
from kontend.kube.cel.comprehensions import compile_comprehension
from kontend.kube.cel.declarations import TYPE_NAMES
from kontend.kube.cel.issues import ProgramError
from kontend.kube.cel.library import FUNCTIONS, checked, index, search
from kontend.kube.cel.library_collections import ZEROS, sum_from
from kontend.kube.cel.schema_types import Declaration, converter
from kontend.kube.cel.types import Type
from kontend.kube.cel.values import NONE, EvalError, NoOverload, Optional, TypeValue, equal, type_name
from kontend.kube.schema import MISSING

Frame = list[Any]
Run = Callable[[Frame], Any]
#: A compiled node, and the schema of its value while that is still JSON.
Compiled = tuple[Run, Mapping[str, Any] | None]

_SCALARS: Final = frozenset({"string", "int", "uint", "bool", "bytes", "double", "timestamp", "duration"})
_ORDERED: Final = {"_<_": operator.lt, "_<=_": operator.le, "_>_": operator.gt, "_>=_": operator.ge}
_INTEGER: Final = {"_+_": operator.add, "_-_": operator.sub, "_*_": operator.mul}


class Compiler:
    """Compiles the nodes of one expression. ``structs`` are the object types that it may meet."""

    def __init__(self, variables: list[str], schemas: Mapping[str, Declaration], structs: Mapping[str, Declaration]) -> None:
        self.slots = {name: slot for slot, name in enumerate(variables)}
        self.raw: dict[str, Mapping[str, Any] | None] = {name: schemas[name].node for name in schemas}
        self.structs = structs
        self.size = len(variables)

    def value(self, node: Node) -> Run:
        """The node's value as CEL has it."""
        run, schema = self.compile(node)
        return run if schema is None else _converted(run, schema)

    def compile(self, node: Node) -> Compiled:
        """The node's value, perhaps still as JSON."""
        if isinstance(node, Literal):
            constant = node.value
            return (lambda _: constant), None
        if isinstance(node, Ident):
            return self._name(node.name)
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListLiteral):
            return self._list(node), None
        if isinstance(node, MapLiteral):
            return self._map(node), None
        assert isinstance(node, Comprehension)
        return compile_comprehension(self, node), None

    def bind(self, name: str, schema: Mapping[str, Any] | None) -> int:
        """A slot for a new variable; the caller restores ``slots`` and ``raw`` when its scope ends."""
        slot = self.size
        self.size += 1
        self.slots[name] = slot
        self.raw[name] = schema
        return slot

    def _name(self, name: str) -> Compiled:
        plain = name.removeprefix(".")
        slot = self.slots.get(plain)
        if slot is None:
            constant = TypeValue(TYPE_NAMES[plain].name)
            return (lambda _: constant), None
        schema = self.raw.get(plain)
        if schema is not None and converter(schema) is None:
            schema = None
        return operator.itemgetter(slot), schema

    # Fields.

    def _select(self, node: Select) -> Compiled:
        name = qualified_name(node)
        if name is not None and name not in self.slots and name.partition(".")[0] not in self.slots:
            return self._name(name)
        operand, _ = self.compile(node.operand)
        kind = node.operand.type
        if kind.kind == "struct" and kind.name in self.structs:
            key, declared = self._field(kind, node.field)
            if node.test:
                return (lambda frame: operand(frame).get(key) is not None), None
            return _reader(operand, key, f"no such key: {node.field}", declared)
        if kind.name == "optional_type":
            return self._optional_field(self.value(node.operand), kind.params[0], node.field, node.test), None
        return _map_field(operand, node.field, node.test), self._below(node.operand) if not node.test else None

    def _below(self, operand: Node) -> Mapping[str, Any] | None:
        """The schema of the values of a map, or the items of a list, that are still JSON."""
        schema = self.compile(operand)[1]
        if schema is None:
            return None
        inner = schema.get("additionalProperties") if schema.get("type") == "object" else schema.get("items")
        return inner if isinstance(inner, Mapping) and converter(inner) is not None else None

    def _field(self, kind: Type, name: str) -> tuple[str, Declaration]:
        fields = self.structs[kind.name].fields
        assert fields is not None
        return fields[name]

    def _optional_field(self, operand: Run, kind: Type, name: str, test: bool) -> Run:
        key, convert = name, None
        if kind.kind == "struct" and kind.name in self.structs:
            key, declared = self._field(kind, name)
            convert = converter(declared.node)
        is_object = kind.kind == "struct"

        def run(frame: Frame) -> Any:
            value = operand(frame)
            if isinstance(value, Optional):
                if not value.present:
                    return False if test else NONE
                value = value.value
            if not isinstance(value, dict):
                raise NoOverload
            found = value.get(key, MISSING)
            if found is MISSING or (found is None and is_object):
                return False if test else NONE
            if test:
                return True
            return Optional(convert(found) if convert is not None else found)

        return run

    # Calls.

    def _call(self, node: Call) -> Compiled:
        name = node.function
        if name == "_?._":
            field = node.args[1]
            assert isinstance(field, Literal)
            kind = node.args[0].type
            inner = kind.params[0] if kind.name == "optional_type" else kind
            # The operand stays JSON: each field is converted when it is read.
            operand = self.compile(node.args[0])[0] if inner is kind else self.value(node.args[0])
            return self._optional_field(operand, inner, field.value, False), None
        if name == "_[_]" and node.args[0].type.kind in ("list", "map"):
            container, _ = self.compile(node.args[0])
            return _indexed(container, self.value(node.args[1]), node.args[0].type), self._below(node.args[0])
        if name == "_?_:_":
            return self._conditional(node), None
        if name in ("_&&_", "_||_"):
            terms = [self.value(arg) for arg in node.args]
            known = all(arg.type.kind == "bool" for arg in node.args)
            return _logic(terms, name == "_||_", known), None
        args = [self.value(arg) for arg in ([node.target] if node.target is not None else []) + node.args]
        kinds = [arg.type for arg in ([node.target] if node.target is not None else []) + node.args]
        _check_constants(node)
        return _specialised(name, args, kinds, node) or _general(name, args), None

    def _conditional(self, node: Call) -> Run:
        condition, yes, no = (self.value(arg) for arg in node.args)

        def run(frame: Frame) -> Any:
            chosen = condition(frame)
            if chosen is True:
                return yes(frame)
            if chosen is False:
                return no(frame)
            raise NoOverload

        return run

    def _list(self, node: ListLiteral) -> Run:
        elements = [self.value(element) for element in node.elements]
        if all(isinstance(element, Literal) for element in node.elements) and not node.optional:
            constant = [element.value for element in node.elements if isinstance(element, Literal)]
            return lambda _: constant
        if not node.optional:
            return lambda frame: [element(frame) for element in elements]
        optional = node.optional

        def run(frame: Frame) -> Any:
            out = []
            for place, element in enumerate(elements):
                value = element(frame)
                if place not in optional:
                    out.append(value)
                elif value.present:
                    out.append(value.value)
            return out

        return run

    def _map(self, node: MapLiteral) -> Run:
        entries = []
        for entry in node.entries:
            assert isinstance(entry.key, Node)
            entries.append((self.value(entry.key), self.value(entry.value), entry.optional))
        parts = [part for entry in node.entries for part in (entry.key, entry.value)]
        if all(isinstance(part, Literal) for part in parts):
            constant = {key([]): value([]) for key, value, _ in entries}
            return lambda _: constant

        def run(frame: Frame) -> Any:
            out: dict[Any, Any] = {}
            for key, value, optional in entries:
                name, found = key(frame), value(frame)
                if optional:
                    if not found.present:
                        continue
                    found = found.value
                if name in out:
                    raise EvalError(f"Failed with repeated key: {name}")
                out[name] = found
            return out

        return run


_CONVERSIONS: Final = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint"})


def _check_constants(node: Call) -> None:
    """Conversions and patterns of constants are tried at once, and what is wrong with them is told then."""
    last = node.args[-1] if node.args else None
    if not isinstance(last, Literal):
        return
    try:
        if node.function in _CONVERSIONS:
            FUNCTIONS[node.function](last.value)
        elif node.function in ("matches", "find"):
            search(last.value)
    except EvalError as error:
        raise ProgramError(str(error)) from None
    except TypeError:
        return


def _converted(run: Run, schema: Mapping[str, Any]) -> Run:
    convert = converter(schema)
    if convert is None:
        return run

    def converted(frame: Frame) -> Any:
        value = run(frame)
        return value if value is None else convert(value)

    return converted


def _reader(operand: Run, key: str, missing: str, declared: Declaration) -> Compiled:
    """Read a field of an object: a null counts as missing."""
    convert = converter(declared.node)
    if convert is not None and declared.node.get("type") not in ("array", "object"):
        change = convert

        def scalar(frame: Frame) -> Any:
            value = operand(frame).get(key)
            if value is None:
                raise EvalError(missing)
            return change(value)

        return scalar, None

    def plain(frame: Frame) -> Any:
        value = operand(frame).get(key)
        if value is None:
            raise EvalError(missing)
        return value

    return plain, declared.node if convert is not None else None


def _map_field(operand: Run, name: str, test: bool) -> Run:
    def run(frame: Frame) -> Any:
        value = operand(frame)
        found = value.get(name, MISSING) if isinstance(value, dict) else MISSING
        if test:
            return found is not MISSING
        if found is MISSING:
            raise EvalError(f"no such key: {name}")
        return found

    return run


def _indexed(container: Run, key: Run, kind: Type) -> Run:
    if kind.kind == "list":

        def item(frame: Frame) -> Any:
            items, place = container(frame), key(frame)
            if type(place) is int and 0 <= place < len(items):
                return items[place]
            return index(items, place)

        return item

    def entry(frame: Frame) -> Any:
        found, name = container(frame), key(frame)
        if type(name) is str:
            value = found.get(name, MISSING)
            if value is not MISSING:
                return value
        return index(found, name)

    return entry


def _logic(terms: list[Run], decided: bool, known: bool) -> Run:
    """``&&`` or ``||``: a term that decides wins over an error in another, whatever their order."""

    def run(frame: Frame) -> bool:
        problem: EvalError | None = None
        for term in terms:
            try:
                value = term(frame)
                if value is decided:
                    return decided
                if not known and type(value) is not bool:
                    raise NoOverload
            except EvalError as error:
                problem = problem or error
        if problem is not None:
            raise problem
        return not decided

    return run


def _is_plain(kind: Type) -> bool:
    """Whether Python's equality is CEL's for this type: nothing in it is left to the run."""
    return kind.kind in _SCALARS or kind.kind == "struct" or (kind.kind in ("list", "map") and all(map(_is_plain, kind.params)))


def _specialised(name: str, args: list[Run], kinds: list[Type], node: Call) -> Run | None:
    """Code for the common operators where the types are known."""
    if len(args) == 2:
        left, right = args
        same = kinds[0] == kinds[1]
        if name in ("_==_", "_!=_"):
            wanted = name == "_==_"
            if same and _is_plain(kinds[0]):
                return (lambda f: left(f) == right(f)) if wanted else (lambda f: left(f) != right(f))
            return lambda f: equal(left(f), right(f)) is wanted
        if name in _ORDERED and same and kinds[0].kind in ("int", "string", "uint", "timestamp", "duration"):
            test = _ORDERED[name]
            return lambda f: test(left(f), right(f))
        if name in _INTEGER and same and kinds[0].kind == "int":
            combine = _INTEGER[name]
            return lambda f: checked(combine(left(f), right(f)))
        if name == "_+_" and same and kinds[0].kind == "string":
            return lambda f: left(f) + right(f)
        if name == "@in" and kinds[1].kind == "list" and kinds[0].kind in ("string", "int") and kinds[1].params[0] == kinds[0]:
            return lambda f: left(f) in right(f)
        if name == "@in" and kinds[1].kind == "map" and kinds[0].kind == "string":
            return lambda f: left(f) in right(f)
        pattern = node.args[-1]
        if name == "matches" and isinstance(pattern, Literal) and kinds[0].kind == "string":
            find = search(pattern.value)
            return lambda f: find(left(f)) is not None
        if name in ("orValue", "or"):
            return _or_else(left, right, unwrap=name == "orValue")
    elif len(args) == 1:
        (only,) = args
        if name == "!_" and kinds[0].kind == "bool":
            return lambda f: not only(f)
        if name == "!_":
            return lambda f: _negated(only(f))
        if name == "size" and kinds[0].kind in ("string", "bytes", "list", "map"):
            return lambda f: len(only(f))
        if name == "sum" and kinds[0].kind == "list" and kinds[0].params[0].kind in ZEROS:
            total = sum_from(ZEROS[kinds[0].params[0].kind])
            return lambda f: total(only(f))
    return None


def _negated(value: Any) -> bool:
    if type(value) is not bool:
        raise NoOverload
    return not value


def _or_else(first: Run, second: Run, *, unwrap: bool) -> Run:
    """``or`` and ``orValue``: the alternative only runs when it is needed."""

    def run(frame: Frame) -> Any:
        value = first(frame)
        if not isinstance(value, Optional):
            raise NoOverload
        if value.present:
            return value.value if unwrap else value
        return second(frame)

    return run


#: Operators, and the functions that cel-go finds by the value alone: when they fail they do not say on what.
_BY_VALUE: Final = frozenset({"contains", "startsWith", "endsWith", "matches", "find", "findAll"})


def _general(name: str, args: list[Run]) -> Run:
    function = FUNCTIONS[name]

    def run(frame: Frame) -> Any:
        values = [arg(frame) for arg in args]
        try:
            return function(*values)
        except (NoOverload, TypeError, AttributeError):
            if name in _BY_VALUE or "_" in name or name.startswith("@"):
                raise NoOverload from None
            if name == "size":
                raise NoOverload("no such overload: size") from None
            shown = ", ".join(map(type_name, values))
            raise NoOverload(f"no such overload: {name}({shown})") from None

    return run
