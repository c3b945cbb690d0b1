"""Conditions of Go code, taken apart by the syntax tree."""

from __future__ import annotations

import re

import pytest

from kontend.audit.go.source import syntax
from kontend.audit.go.source.conditions import asks, compared_with_nil, named_like, only_failure
from kontend.audit.go.source.syntax import Node, text


def _condition(source: str) -> Node:
    root = syntax.parse(f"package a\n\nfunc f() {{ if {source} {{ g() }} }}\n".encode()).root_node
    (statement,) = syntax.captures(root, "(if_statement) @i", "i")
    condition = syntax.field(statement, "condition")
    assert condition is not None
    return condition


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("apierrors.IsConflict(err)", True),
        ("err := update(); apierrors.IsConflict(err)", True),
        ("ok && (gone || apierrors.IsConflict(err))", True),
        ("apierrors.IsConflict(errors.Unwrap(err))", True),
        ("!apierrors.IsConflict(err)", False),
        ("!(gone || apierrors.IsConflict(err))", False),
        ("!(!apierrors.IsConflict(err))", True),
        ("apierrors.IsConflict(other)", False),
        ('contains(err, "IsConflict(err)")', False),
        ("gone /* IsConflict(err) */", False),
        ("handle(apierrors.IsConflict(err))", False),
    ],
)
def test_a_call_is_asked_for_where_the_branch_needs_it_to_be_true(source: str, *, asked: bool) -> None:
    assert asks(_condition(source), "IsConflict", argument="err") is asked


@pytest.mark.parametrize(
    ("source", "compared"),
    [
        ("err != nil", [("err", False)]),
        ("nil == err", [("err", True)]),
        ("!(err == nil) && w.Spec.Size != nil", [("err", False), ("w.Spec.Size", False)]),
        ('err.Error() != "nil"', []),
    ],
)
def test_comparisons_with_nil_say_what_the_branch_is_taken_for(source: str, compared: list[tuple[str, bool]]) -> None:
    assert [(text(node), is_nil) for node, is_nil in compared_with_nil(_condition(source))] == compared


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("err != nil", "err"),
        ("(nil != err)", "err"),
        ("err != nil && gone", ""),
        ("err == nil", ""),
        ("w.err != nil", ""),
    ],
)
def test_the_only_question_of_a_plain_check_names_its_variable(source: str, name: str) -> None:
    assert only_failure(_condition(source)) == name


def test_names_are_those_of_variables_and_fields() -> None:
    pattern = re.compile("[eE]rr")
    assert named_like(_condition("w.lastErr == old"), pattern)
    assert not named_like(_condition('w.state == "err" /* err */'), pattern)
