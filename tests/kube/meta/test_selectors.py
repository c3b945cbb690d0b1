"""Label selectors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.meta.selectors import (
    EVERYTHING,
    NOTHING,
    BadSelector,
    LabelSelector,
    Requirement,
    parse_selector,
    selector_from_json,
    selector_from_labels,
)


@pytest.mark.parametrize(
    ("text", "labels", "selected"),
    [
        ("", {}, True),
        ("a=1", {"a": "1"}, True),
        ("a==1", {"a": "2"}, False),
        ("a=", {"a": ""}, True),
        ("a=", {}, False),
        ("a!=1", {}, True),
        ("a!=1", {"a": "1"}, False),
        ("a in (1,2)", {"a": "2"}, True),
        ("a in (1,2)", {}, False),
        ("a in ()", {"a": ""}, True),
        ("a in (,1)", {"a": ""}, True),
        ("a in (1,,2)", {"a": ""}, True),
        ("a in (1,)", {"a": ""}, True),
        ("a notin (1)", {}, True),
        ("a notin(1)", {"a": "1"}, False),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("! a", {}, True),
        ("a>1", {"a": "2"}, True),
        ("a > 1", {"a": "1"}, False),
        ("a<1", {"a": "-2"}, True),
        ("a<1", {"a": "x"}, False),
        ("a<1", {}, False),
        ("in in (in, notin)", {"in": "notin"}, True),
        ("example.com/a=b,\tc", {"example.com/a": "b", "c": ""}, True),
        ("a=1,a!=1", {"a": "1"}, False),
    ],
)
def test_a_selector_selects_what_it_says(text: str, labels: dict[str, str], selected: bool) -> None:
    assert parse_selector(text).matches(labels) is selected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("env===x", "unable to parse requirement: found '=', expected: identifier"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a in 1", "unable to parse requirement: found '1' expected: '('"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": "
                "for 'Gt', 'Lt' operators, the value must be an integer"),
    ],
)  # fmt: skip
def test_a_bad_selector_is_told_in_the_servers_words(text: str, message: str) -> None:
    with pytest.raises(BadSelector) as refused:
        parse_selector(text)
    assert refused.value.message == message
    assert refused.value.http_code == 400


def test_bad_keys_and_values_are_told_with_their_rule() -> None:
    with pytest.raises(
        BadSelector, match=r'^unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key'
    ):
        parse_selector("a/b/c=1")
    with pytest.raises(
        BadSelector, match=r'^unable to parse requirement: values\[0\]\[a\]: Invalid value: "-x": a valid label'
    ):
        parse_selector("a=-x")
    with pytest.raises(BadSelector, match=r"^unable to parse requirement: \[values\[0\]: .*, values\[0\]\[a\]: .*\]$"):
        parse_selector("a>-x")


def test_the_same_text_is_parsed_once() -> None:
    assert parse_selector("a=1,b") is parse_selector("a=1,b")


def test_json_selectors_mean_the_same_as_text() -> None:
    selector = {
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["y", "x"]},
            {"key": "d", "operator": "NotIn", "values": ["z"]},
            {"key": "e", "operator": "Exists"},
            {"key": "f", "operator": "DoesNotExist", "values": []},
        ],
    }
    assert str(selector_from_json(selector)) == "a=1,b=2,c in (x,y),d notin (z),e,!f"


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert selector_from_json(None) is NOTHING
    assert not NOTHING.matches({})
    assert selector_from_json({}) == EVERYTHING == selector_from_labels({})
    assert EVERYTHING.matches({"a": "1"})
    assert selector_from_labels({"b": "1", "a": "2"}) == parse_selector("a=2,b=1")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ({"key": "a", "operator": "Near"}, '"Near" is not a valid label selector operator'),
        (
            {"key": "a", "operator": "In"},
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["x"]},
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
        ),
    ],
)
def test_bad_expressions_are_refused(expression: dict[str, Any], message: str) -> None:
    with pytest.raises(BadSelector) as refused:
        selector_from_json({"matchExpressions": [expression]})
    assert refused.value.message == message


KEYS = st.sampled_from(["a", "b", "in", "notin", "x.io/c", "A_b-c.d"])
VALUES = st.sampled_from(["", "1", "in", "a.b", "Z_9"])
REQUIREMENTS = (
    st.builds(Requirement, KEYS, st.sampled_from(["exists", "!"]), st.just(()))
    | st.builds(Requirement, KEYS, st.sampled_from(["=", "==", "!="]), st.tuples(VALUES))
    | st.builds(Requirement, KEYS, st.sampled_from(["gt", "lt"]), st.sampled_from([("1",), ("0",), ("42",)]))
    | st.builds(
        lambda key, operator, values: Requirement(key, operator, tuple(sorted(values))),
        KEYS,
        st.sampled_from(["in", "notin"]),
        st.sets(VALUES, min_size=1, max_size=4),
    )
)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(REQUIREMENTS, max_size=4), st.dictionaries(KEYS, VALUES))
def test_the_text_of_a_selector_parses_back_to_it(requirements: list[Requirement], labels: dict[str, str]) -> None:
    selector = LabelSelector(tuple(sorted(requirements, key=lambda it: it.key)))
    again = parse_selector(str(selector))
    assert again == selector
    assert again.matches(labels) == selector.matches(labels)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.text("ab1=!(),<> in\t\0-/.é", max_size=15))
def test_garbage_is_a_bad_selector_or_a_good_one(text: str) -> None:
    try:
        selector = parse_selector(text)
    except BadSelector:
        return
    assert parse_selector(str(selector)) == selector
