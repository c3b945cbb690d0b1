"""``all``, ``exists``, ``map`` and their like, as loops.

The macros were expanded into folds for the checker; here the well-known ones run as what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from kontend.kube.cel.cost.metering import charge, turn_cost
from kontend.kube.cel.operations import Frame, Run
from kontend.kube.cel.schema_types import converter
from kontend.kube.cel.syntax.ast import Comprehension, Node
from kontend.kube.cel.values import EvalError, NoOverload, go_type_name
from kontend.kube.schema.openapi_node import as_mapping


class Compiler(Protocol):
    """The parts of :class:`~kontend.kube.cel.program.Compiler` that loops use."""

    slots: dict[str, int]
    raw: dict[str, Mapping[str, Any] | None]

    def value(self, node: Node) -> Run:
        """Return the node's value as CEL has it."""

    def compile(self, node: Node) -> tuple[Run, Mapping[str, Any] | None]:
        """Return the node's value, perhaps still as JSON."""

    def bind(self, name: str, schema: Mapping[str, Any] | None) -> int:
        """Return a slot for a new variable."""


def compile_comprehension(compiler: Compiler, node: Comprehension) -> Run:
    """Return the loop for a comprehension."""
    over, schema = compiler.compile(node.range)
    saved = dict(compiler.slots), dict(compiler.raw)
    accumulator = compiler.value(node.init)
    inner, convert = _element(schema)
    accumulated = compiler.bind(node.accumulator, None)
    first = compiler.bind(node.variable, None if node.second else inner)
    second = compiler.bind(node.second, inner) if node.second else -1
    pairs = _pairs(over, convert, first, second, turn_cost(node.body or [node.condition, node.step]))
    body = [compiler.value(part) for part in node.body]
    run = _LOOPS[node.macro](pairs, body) if node.macro in _LOOPS else None
    if run is None:
        condition, step = compiler.value(node.condition), compiler.value(node.step)
        run = _fold(pairs, accumulator, accumulated, condition, step, compiler.value(node.result))
    compiler.slots, compiler.raw = saved
    return run


def _element(schema: Mapping[str, Any] | None) -> tuple[Mapping[str, Any] | None, Callable[[Any], Any] | None]:
    """Return the schema of what is iterated while it stays JSON, or how it is converted at once."""
    if schema is None:
        return None, None
    inner = as_mapping(schema.get("items") or schema.get("additionalProperties"))
    convert = converter(inner)
    if convert is not None and inner.get("type") in ("array", "object"):
        return inner, None
    return None, convert


Pairs = Callable[[Frame], Iterable[None]]


def _pairs(over: Run, convert: Callable[[Any], Any] | None, first: int, second: int, cost: int) -> Pairs:
    """Iterate: charges for each turn and sets the variables in the frame before it."""

    def run(frame: Frame) -> Iterable[None]:
        items = over(frame)
        if isinstance(items, list):
            for position, item in enumerate(items):
                charge(frame, cost)
                value = item if convert is None or item is None else convert(item)
                if second < 0:
                    frame[first] = value
                else:
                    frame[first], frame[second] = position, value
                yield
        elif isinstance(items, dict):
            for key, item in items.items():
                charge(frame, cost)
                frame[first] = key
                if second >= 0:
                    frame[second] = item if convert is None or item is None else convert(item)
                yield
        else:
            raise EvalError(f"got '{go_type_name(items)}', expected iterable type")

    return run


def _all(pairs: Pairs, body: list[Run]) -> Run:
    return _quantifier(pairs, body[0], decided=False)


def _exists(pairs: Pairs, body: list[Run]) -> Run:
    return _quantifier(pairs, body[0], decided=True)


def _quantifier(pairs: Pairs, predicate: Run, *, decided: bool) -> Run:
    def run(frame: Frame) -> Any:
        problem: EvalError | None = None
        for _ in pairs(frame):
            try:
                value = predicate(frame)
                if value is decided:
                    return decided
                if type(value) is not bool:
                    raise NoOverload
            except EvalError as error:
                problem = problem or error
        if problem is not None:
            raise problem
        return not decided

    return run


def _exists_one(pairs: Pairs, body: list[Run]) -> Run:
    predicate = body[0]

    def run(frame: Frame) -> bool:
        count = 0
        for _ in pairs(frame):
            value = predicate(frame)
            if type(value) is not bool:
                raise NoOverload
            count += value
        return count == 1

    return run


def _map(pairs: Pairs, body: list[Run]) -> Run:
    transform = body[-1]
    if len(body) == 1:
        return lambda frame: [transform(frame) for _ in pairs(frame)]
    condition = body[0]

    def run(frame: Frame) -> list[Any]:
        out = []
        for _ in pairs(frame):
            chosen = condition(frame)
            if chosen is True:
                out.append(transform(frame))
            elif chosen is not False:
                raise NoOverload
        return out

    return run


_LOOPS: dict[str, Callable[[Pairs, list[Run]], Run]] = {
    "all": _all, "exists": _exists, "one": _exists_one, "map": _map,
}  # fmt: skip


def _fold(pairs: Pairs, init: Run, slot: int, condition: Run, step: Run, result: Run) -> Run:
    def run(frame: Frame) -> Any:
        frame[slot] = init(frame)
        for _ in pairs(frame):
            if condition(frame) is not True:
                break
            frame[slot] = step(frame)
        return result(frame)

    return run
