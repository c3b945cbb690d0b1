"""The parser."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.cel.issues import CompileError
from kontend.kube.cel.syntax.ast import Call, Comprehension, Literal
from kontend.kube.cel.syntax.parser import parse

PIECES = [
    "self",
    ".",
    "a",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "1",
    "'x'",
    "&&",
    "||",
    "?",
    ":",
    ",",
    "-",
    "!",
    "in",
    "@",
    " ",
]


def test_multiplication_binds_tighter_than_addition() -> None:
    tree = parse("1 + 2 * 3")
    assert isinstance(tree, Call)
    assert tree.function == "_+_"


def test_a_minus_before_a_number_belongs_to_the_number() -> None:
    tree = parse("-9223372036854775808")
    assert isinstance(tree, Literal)
    assert tree.value == -(2**63)


def test_two_minuses_cancel_out() -> None:
    tree = parse("--1")
    assert isinstance(tree, Literal)
    assert tree.value == 1


def test_a_macro_becomes_a_comprehension() -> None:
    tree = parse("[1].all(x, x > 0)")
    assert isinstance(tree, Comprehension)
    assert tree.variable == "x"


def test_all_mistakes_are_told_with_their_places() -> None:
    with pytest.raises(CompileError) as refused:
        parse("has(1) &&\n if")
    assert str(refused.value).splitlines() == [
        "ERROR: <input>:1:5: invalid argument to has() macro",
        " | has(1) &&",
        " | ....^",
        "ERROR: <input>:2:2: reserved identifier: if",
        " |  if",
        " | .^",
    ]


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(CompileError, match="recursion limit exceeded"):
        parse("(" * 300 + "1" + ")" * 300)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_any_text_is_parsed_or_refused(text: str) -> None:
    """Nothing but a CompileError comes out of the parser."""
    said = ""
    try:
        parse(text)
    except CompileError as error:
        said = str(error)
    assert said == "" or said.startswith("ERROR: <input>:")
