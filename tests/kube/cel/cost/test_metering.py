"""The cost of an evaluation, and its limit."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kontend.kube.cel.cost.metering import PER_CALL_LIMIT, CostLimit, meter
from kontend.kube.cel.dynamic import compile_dynamic
from kontend.kube.cel.expression import Expression, compile_expression
from kontend.kube.cel.rules import rule_errors, rule_tree
from kontend.kube.cel.schema_types import declare
from kontend.kube.schema.tree import MISSING

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "l": {"type": "array", "items": {"type": "integer"}},
        "s": {"type": "string"},
        "p": {"type": "string"},
    },
}


def compiled(source: str) -> Expression:
    """An expression over the schema."""
    declaration = declare(SCHEMA, resource=False)
    assert declaration is not None
    return compile_expression(source, declaration)


def cost(source: str, value: dict[str, Any]) -> float:
    """The cost of one evaluation."""
    left = meter(PER_CALL_LIMIT)
    compiled(source).evaluate(value, None, left)
    return PER_CALL_LIMIT - left[0]


def test_a_loop_costs_in_proportion_to_its_turns() -> None:
    small, large = ({"l": list(range(size))} for size in (100, 1000))
    source = "self.l.all(x, x >= 0)"
    assert 0 < cost(source, small) * 9 < cost(source, large) < cost(source, small) * 11
    assert cost("self.l.all(x, self.l.all(y, x + y >= 0))", small) > 100 * cost(source, small)


def test_texts_and_patterns_cost_in_proportion_to_their_lengths() -> None:
    short, long = ({"s": "a" * size, "p": "b" * size} for size in (100, 1000))
    for source in ("self.s.contains('x') || true", "self.s + self.s == ''", "self.s == self.p"):
        assert cost(source, long) > 8 * cost(source, short) > 0
    assert cost("self.s.matches(self.p)", long) > 50 * cost("self.s.matches(self.p)", short)
    assert cost("self.s.matches('^a+$')", long) > 8 * cost("self.s.matches('^a+$')", short)


@pytest.mark.parametrize(
    "source",
    [
        "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))",
        "self.l.exists(x, self.l.exists(y, self.l.exists(z, x + y + z < 0) || false) || false)",
        "self.l.map(x, self.l.map(y, self.l.filter(z, z > x))).size() == 0",
        "self.l.all(x, self.s.matches(self.p) || true)",
        "self.l.map(x, self.s + self.s).size() == 0",
        "self.l.all(x, self.s.contains('b') || true)",
    ],
)
def test_an_evaluation_that_costs_too_much_is_ended(source: str) -> None:
    """Soon, and whatever might absorb an error around it."""
    value = {"l": list(range(400)), "s": "a" * 100_000, "p": "a*" * 100}
    expression = compiled(source)
    started = time.process_time()
    with pytest.raises(CostLimit, match="operation cancelled: actual cost limit exceeded"):
        expression.evaluate(value)
    assert time.process_time() - started < 10
    with pytest.raises(CostLimit):
        compile_dynamic(source.replace("self", "object"), ("object",)).evaluate({"object": value})


def violations(rules: list[str], value: dict[str, Any]) -> list[str]:
    """The errors of a value."""
    schema = {**SCHEMA, "x-kubernetes-validations": [{"rule": rule} for rule in rules]}
    tree = rule_tree(schema, resource=False)
    assert tree is not None
    return [str(error) for error in rule_errors(tree, value, MISSING)]


def test_a_rule_beyond_its_limit_fails_and_no_other_is_run() -> None:
    costly = "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))"
    (error,) = violations([costly, "false"], {"l": list(range(400))})
    says = "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost"
    assert f"{says} exceeds limit for rule: {costly}" in error


def test_all_rules_of_an_object_share_a_budget() -> None:
    rule = "self.l.all(x, self.l.all(y, x + y >= 0))"
    value = {"l": list(range(350))}
    assert 400_000 < cost(rule, value) < PER_CALL_LIMIT
    assert violations([rule] * 3, value) == []
    (error,) = violations([rule] * 40, value)
    assert "validation failed due to running out of cost budget, no further validation rules will be run" in error
