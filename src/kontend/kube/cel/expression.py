"""Expressions, ready to run: parsed, checked and compiled once, evaluated many times.

>>> from kontend.kube.cel.schema_types import declare
>>> self_type = declare({"type": "object", "properties": {"n": {"type": "integer"}}}, resource=False)
>>> expression = compile_expression("self.n < 3", self_type)
>>> expression.evaluate({"n": 2})
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from kontend.kube.cel import types
from kontend.kube.cel.checker import Environment, check
from kontend.kube.cel.cost.metering import PER_CALL_LIMIT, meter
from kontend.kube.cel.evaluation import evaluated
from kontend.kube.cel.issues import CompileError
from kontend.kube.cel.operations import Run
from kontend.kube.cel.program import Compiler
from kontend.kube.cel.recursion import headroom
from kontend.kube.cel.schema_types import Declaration, converter
from kontend.kube.cel.syntax.ast import Node
from kontend.kube.cel.syntax.parser import parse
from kontend.kube.cel.types import Type
from kontend.kube.cel.values import EvalError, Optional

#: The length from which an expression may be deep.
_MAYBE_DEEP: Final = 200


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression over ``self`` and ``oldSelf``."""

    source: str
    tree: Node
    type: Type
    uses_old: bool
    run: Run
    size: int
    optional_old: bool
    declaration: Declaration | None

    def evaluate(self, value: Any, old: Any = None, left: list[float] | None = None) -> Any:
        """Return the result; an ``EvalError`` when there is none.

        ``left`` is what the evaluation may still cost (:func:`~kontend.kube.cel.cost.metering.meter`).
        """
        frame = [value, old, *[None] * (self.size - 2), meter(PER_CALL_LIMIT) if left is None else left]
        if len(self.source) > _MAYBE_DEEP:
            with headroom():
                return evaluated(self.run, frame)
        return evaluated(self.run, frame)

    def old_value(self, old: Any) -> Any:
        """Return the value of ``oldSelf``, given the old JSON (``None`` when there is none)."""
        if not self.optional_old:
            return old
        if old is None:
            return Optional(present=False)
        convert = converter(self.declaration.node) if self.declaration is not None else None
        try:
            return Optional(convert(old) if convert is not None else old)
        except EvalError:
            # An old value that cannot be read is still an old value; an expression that reads it gets an error.
            return Optional(old)


def compile_expression(source: str, declaration: Declaration, *, optional_old: bool = False) -> Expression:
    """Compiles a rule; raises a ``CompileError`` with its mistakes."""
    try:
        with headroom():
            return _compile(source, declaration, optional_old)
    except RecursionError:
        raise CompileError("ERROR: <input>:-1:0: max recursion depth exceeded") from None


def _compile(source: str, declaration: Declaration, optional_old: bool) -> Expression:
    tree = parse(source)
    old_type = types.optional_of(declaration.type) if optional_old else declaration.type
    structs = declaration.structs
    fields = {
        name: {field: declared.type for field, (_, declared) in struct.selectable().items()}
        for name, struct in structs.items()
    }
    environment = Environment({"self": declaration.type, "oldSelf": old_type}, fields)
    used = check(tree, source, environment)
    schemas = {"self": declaration} if optional_old else {"self": declaration, "oldSelf": declaration}
    compiler = Compiler(["self", "oldSelf"], schemas, structs)
    run = compiler.value(tree)
    return Expression(source, tree, tree.type, "oldSelf" in used, run, compiler.size, optional_old, declaration)
