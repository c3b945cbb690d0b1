"""The closures that expressions are made of: reading, indexing, logic and calls.

Static types choose the code. Where they are known, an operator is one Python operator; only values of type ``dyn`` go
through the functions that look at types.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from kontend.kube.cel.issues import ProgramError
from kontend.kube.cel.library import authorizer, conversions, kubernetes  # noqa: F401  (they register functions)
from kontend.kube.cel.library.collections import ZEROS, sum_from
from kontend.kube.cel.library.functions import FUNCTIONS, checked, index
from kontend.kube.cel.library.text import compiled
from kontend.kube.cel.schema_types import Declaration, converter
from kontend.kube.cel.syntax.ast import Call, Literal
from kontend.kube.cel.types import Type
from kontend.kube.cel.values import EvalError, NoOverload, Optional, equal, type_name
from kontend.kube.schema.tree import MISSING

Frame = list[Any]
Run = Callable[[Frame], Any]

_SCALARS: Final = frozenset({"string", "int", "uint", "bool", "bytes", "double", "timestamp", "duration"})
_ORDERED: Final = {"_<_": operator.lt, "_<=_": operator.le, "_>_": operator.gt, "_>=_": operator.ge}
_INTEGER: Final = {"_+_": operator.add, "_-_": operator.sub, "_*_": operator.mul}
_CONVERSIONS: Final = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint"})


def check_constants(node: Call) -> None:
    """Try conversions and patterns of constants at once, so that mistakes are found when a rule is compiled."""
    last = node.args[-1] if node.args else None
    if not isinstance(last, Literal):
        return
    try:
        if node.function in _CONVERSIONS:
            FUNCTIONS[node.function](last.value)
        elif node.function in ("matches", "find"):
            compiled(last.value)
    except EvalError as error:
        raise ProgramError(str(error)) from None
    except TypeError:
        return


def converted_value(run: Run, schema: Mapping[str, Any]) -> Run:
    """Return a value, converted from JSON when it is read."""
    convert = converter(schema)
    if convert is None:
        return run

    def converted(frame: Frame) -> Any:
        value = run(frame)
        return value if value is None else convert(value)

    return converted


def field_reader(operand: Run, key: str, missing: str, declared: Declaration) -> tuple[Run, Mapping[str, Any] | None]:
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


def map_field(operand: Run, name: str, test: bool) -> Run:
    """Read an entry of a map, or tests for it."""

    def run(frame: Frame) -> Any:
        value = operand(frame)
        content = value.get(name, MISSING) if isinstance(value, dict) else MISSING
        if test:
            return content is not MISSING
        if content is MISSING:
            raise EvalError(f"no such key: {name}")
        return content

    return run


def indexed(container: Run, key: Run, kind: Type) -> Run:
    """``container[key]`` where it is known whether that is a list or a map."""
    if kind.kind == "list":

        def item(frame: Frame) -> Any:
            items, position = container(frame), key(frame)
            if type(position) is int and 0 <= position < len(items):
                return items[position]
            return index(items, position)

        return item

    def entry(frame: Frame) -> Any:
        content, name = container(frame), key(frame)
        if type(name) is str:
            value = content.get(name, MISSING)
            if value is not MISSING:
                return value
        return index(content, name)

    return entry


def logic(terms: list[Run], decided: bool, known: bool) -> Run:
    """``&&`` or ``||``: a term that decides wins over an error in another, whatever their order."""

    def run(frame: Frame) -> Any:
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
    """Report whether Python's equality is CEL's for this type: nothing in it is left to the run."""
    if kind.kind in ("list", "map"):
        return all(map(_is_plain, kind.params))
    return kind.kind in _SCALARS or kind.kind == "struct"


def specialised(name: str, args: list[Run], kinds: list[Type], node: Call) -> Run | None:
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
        if name == "@in" and kinds[0].kind in ("string", "int") and kinds[1].params[:1] == (kinds[0],):
            return lambda f: left(f) in right(f)
        pattern = node.args[-1]
        if name == "matches" and isinstance(pattern, Literal) and kinds[0].kind == "string":
            matches = compiled(pattern.value).matches
            return lambda f: matches(left(f))
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


def general_call(name: str, args: list[Run]) -> Run:
    """Return a call of a function that looks at the types of its arguments."""
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
