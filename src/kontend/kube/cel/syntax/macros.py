"""Macros: calls that are rewritten while parsing, because they bind names (``all``) or test fields (``has``)."""

from __future__ import annotations

from kontend.kube.cel.issues import Issues
from kontend.kube.cel.syntax.ast import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
)
from kontend.kube.cel.types import BOOL, INT

_QUANTIFIERS = {"all": "all", "exists": "exists", "exists_one": "one", "existsOne": "one"}


class _Misuse(Exception):
    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def function(name: str, args: list[Node], at: int, issues: Issues) -> Node:
    """Return a call of a global function or macro."""
    if name == "has" and len(args) == 1:
        tested = args[0]
        if isinstance(tested, Select) and not tested.test:
            return Select(tested.operand, tested.field, True, at=at)
        issues.add(tested.at, "invalid argument to has() macro")
    return Call(name, args, at=at)


def method(name: str, target: Node, args: list[Node], at: int, issues: Issues) -> Node:
    """Return a call of a method or of a macro that looks like one."""
    try:
        expanded = _expand(name, target, args, at)
    except _Misuse as misuse:
        issues.add(misuse.at, str(misuse))
        expanded = None
    return expanded or Call(name, args, target, at=at)


def bind(target: Node, args: list[Node], at: int, issues: Issues) -> Node:
    """Expand ``cel.bind(name, value, result)``, which some environments have."""
    if len(args) != 3:
        return Call("bind", args, target, at=at)
    variable = args[0]
    if not isinstance(variable, Ident):
        issues.add(variable.at, "cel.bind() variable names must be simple identifiers")
        return Call("bind", args, target, at=at)
    return _bind(variable.name, args[1], args[2], at)


def _expand(name: str, target: Node, args: list[Node], at: int) -> Node | None:
    count = len(args)
    if name in _QUANTIFIERS and count in (2, 3):
        variables = _variables(args[:-1], "argument must be a simple name")
        return _quantifier(_QUANTIFIERS[name], target, variables, args[-1], at)
    if name == "map" and count in (2, 3):
        variable = _variables(args[:1], "argument is not an identifier")
        condition = args[1] if count == 3 else None
        return _collect("map", target, variable, condition, _append(args[-1], at), [args[-1]], at)
    if name == "filter" and count == 2:
        variable = _variables(args[:1], "argument is not an identifier")
        return _collect("map", target, variable, args[1], _append(args[0], at), [args[0]], at)
    if name == "transformList" and count in (3, 4):
        pair = _variables(args[:2], "argument must be a simple name")
        return _collect("map", target, pair, args[2] if count == 4 else None, _append(args[-1], at), [args[-1]], at)
    if name in ("transformMap", "transformMapEntry") and count in (3, 4):
        pair = _variables(args[:2], "argument must be a simple name")
        inserted = [args[-1]] if name == "transformMapEntry" else [Ident(name=pair[0], at=at), args[-1]]
        step = Call("cel.@mapInsert", [_accumulator(at), *inserted], at=at)
        return _collect("fold", target, pair, args[2] if count == 4 else None, step, [], at, into_map=True)
    if name == "sortBy" and count == 2:
        return _sort_by(target, args, at)
    if name in ("optMap", "optFlatMap") and count == 2:
        return _optional_map(name, target, args, at)
    return None


def _accumulator(at: int) -> Node:
    return Ident(name=ACCUMULATOR, at=at)


def _append(element: Node, at: int) -> Node:
    return Call("_+_", [_accumulator(at), ListLiteral([element], at=at)], at=at)


def _variables(args: list[Node], complaint: str) -> list[str]:
    names: list[str] = []
    for arg in args:
        if not isinstance(arg, Ident):
            raise _Misuse(arg.at, complaint)
        names.append(arg.name)
    if len(names) == 2 and names[0] == names[1]:
        raise _Misuse(args[1].at, f"duplicate variable name: {names[0]}")
    for arg, name in zip(args, names, strict=True):
        if name in (ACCUMULATOR, "__result__"):
            raise _Misuse(arg.at, "iteration variable overwrites accumulator variable")
    return names


def _quantifier(kind: str, target: Node, variables: list[str], predicate: Node, at: int) -> Node:
    first, second = variables[0], variables[1] if len(variables) > 1 else ""
    init: Node
    condition: Node
    result = _accumulator(at)
    if kind == "one":
        init, condition = Literal(value=0, type=INT, at=at), Literal(value=True, type=BOOL, at=at)
        more = Call("_+_", [_accumulator(at), Literal(value=1, type=INT, at=at)], at=at)
        step = Call("_?_:_", [predicate, more, _accumulator(at)], at=at)
        result = Call("_==_", [_accumulator(at), Literal(value=1, type=INT, at=at)], at=at)
    else:
        is_all = kind == "all"
        init = Literal(value=is_all, type=BOOL, at=at)
        seen = _accumulator(at) if is_all else Call("!_", [_accumulator(at)], at=at)
        condition = Call("@not_strictly_false", [seen], at=at)
        step = Call("_&&_" if is_all else "_||_", [_accumulator(at), predicate], at=at)
    return Comprehension(kind, target, first, second, ACCUMULATOR, init, condition, step, result, [predicate], at=at)


def _collect(
    kind: str,
    target: Node,
    variables: list[str],
    condition: Node | None,
    step: Node,
    body: list[Node],
    at: int,
    *,
    into_map: bool = False,
) -> Node:
    first, second = variables[0], variables[1] if len(variables) > 1 else ""
    if condition is not None:
        step = Call("_?_:_", [condition, step, _accumulator(at)], at=at)
        body = [condition, *body]
    init: Node = MapLiteral([], at=at) if into_map else ListLiteral([], at=at)
    always = Literal(value=True, type=BOOL, at=at)
    result = _accumulator(at)
    return Comprehension(kind, target, first, second, ACCUMULATOR, init, always, step, result, body, at=at)


def _sort_by(target: Node, args: list[Node], at: int) -> Node:
    if isinstance(target, (Literal, MapLiteral)):
        what = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise _Misuse(target.at, what)
    name = "@__sortBy_input__"
    variable = _variables(args[:1], "argument is not an identifier")
    keys = _collect("map", Ident(name=name, at=at), variable, None, _append(args[1], at), [args[1]], at)
    return _bind(name, target, Call("@sortByAssociatedKeys", [keys], Ident(name=name, at=at), at=at), at)


def _bind(name: str, value: Node, result: Node, at: int) -> Node:
    """Return a name for a value: a fold over nothing, whose accumulator it is."""
    never = Literal(value=False, type=BOOL, at=at)
    nothing = ListLiteral([], at=at)
    return Comprehension("fold", nothing, "#unused", "", name, value, never, Ident(name=name, at=at), result, at=at)


def _optional_map(name: str, target: Node, args: list[Node], at: int) -> Node:
    variable = args[0]
    if not isinstance(variable, Ident):
        raise _Misuse(variable.at, f"{name}() variable name must be a simple identifier")
    value = Call("value", [], target, at=at)
    bound = _bind(variable.name, value, args[1], at)
    if name == "optMap":
        bound = Call("optional.of", [bound], at=at)
    return Call("_?_:_", [Call("hasValue", [], target, at=at), bound, Call("optional.none", [], at=at)], at=at)
