"""Expressions over variables that are not declared: those of admission policies and match conditions.

Their types are known only when they run, so mistakes in field names are found then, too.

>>> expression = compile_dynamic("object.spec.replicas <= params.most", ("object", "params"))
>>> expression.evaluate({"object": {"spec": {"replicas": 3}}, "params": {"most": 5}})
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kontend.kube.cel import types
from kontend.kube.cel.checker import Environment, check
from kontend.kube.cel.cost.metering import PER_CALL_LIMIT, meter
from kontend.kube.cel.evaluation import evaluated
from kontend.kube.cel.operations import Run
from kontend.kube.cel.program import Compiler
from kontend.kube.cel.syntax.ast import Node
from kontend.kube.cel.syntax.parser import parse
from kontend.kube.cel.types import Type


@dataclass(frozen=True, slots=True)
class DynamicExpression:
    """A compiled expression over some variables."""

    source: str
    tree: Node
    type: Type
    used: frozenset[str]
    variables: Sequence[str]
    run: Run
    size: int

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Return the result; an ``EvalError`` when there is none."""
        slots = [values.get(name) for name in self.variables]
        return evaluated(self.run, [*slots, *[None] * (self.size - len(slots)), meter(PER_CALL_LIMIT)])


@lru_cache(maxsize=1024)
def compile_dynamic(source: str, variables: tuple[str, ...]) -> DynamicExpression:
    """Compiles an expression; raises a ``CompileError`` with its mistakes."""
    tree = parse(source)
    used = check(tree, source, Environment(dict.fromkeys(variables, types.DYN)))
    compiler = Compiler(list(variables), {}, {})
    run = compiler.value(tree)
    return DynamicExpression(source, tree, tree.type, used, variables, run, compiler.size)
