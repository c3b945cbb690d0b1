"""Field selectors."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.meta.field_selectors import (
    BadFieldSelector,
    FieldRequirement,
    FieldSelector,
    escape,
    parse_field_selector,
)


@pytest.mark.parametrize(
    ("text", "fields", "selected"),
    [
        ("", {}, True),
        ("metadata.name=a", {"metadata.name": "a"}, True),
        ("metadata.name==a", {"metadata.name": "b"}, False),
        ("metadata.name!=a,metadata.name!=b", {"metadata.name": "c"}, True),
        ("spec.nodeName=", {}, True),
        ("spec.nodeName!=", {}, False),
        (",,x=1,", {"x": "1"}, True),
        ("!=", {}, True),
        (r"x=a\,b\=c\\", {"x": "a,b=c\\"}, True),
    ],
)
def test_a_selector_selects_what_it_says(text: str, fields: dict[str, str], selected: bool) -> None:
    assert parse_field_selector(text).matches(fields) is selected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "invalid selector: 'x'; can't understand 'x'"),
        ("a=1,x", "invalid selector: 'a=1,x'; can't understand 'x'"),
        ("x=a=b", "invalid field selector: unescaped character in value: 61"),
        (r"x=a\b", r"invalid field selector: invalid escape sequence: \b"),
        ("x=a\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_a_bad_selector_is_told_in_the_servers_words(text: str, message: str) -> None:
    with pytest.raises(BadFieldSelector) as refused:
        parse_field_selector(text)
    assert refused.value.message == message


def test_an_exact_field_is_known() -> None:
    selector = parse_field_selector("metadata.name=a,x!=b")
    assert (selector.exact("metadata.name"), selector.exact("x")) == ("a", None)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.dictionaries(st.sampled_from(["a", "b.c"]), st.text("xy,=\\!", max_size=5)))
def test_the_text_of_a_selector_parses_back_to_it(fields: dict[str, str]) -> None:
    terms = sorted(f"{field}={escape(value)}" for field, value in fields.items())
    selector = parse_field_selector(",".join(terms))
    assert set(selector.requirements) == {FieldRequirement(field, "=", value) for field, value in fields.items()}
    assert parse_field_selector(str(selector)) == selector
    assert selector.matches(fields)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.text("ab=!,\\ é", max_size=12))
def test_garbage_is_a_bad_selector_or_a_good_one(text: str) -> None:
    with contextlib.suppress(BadFieldSelector):
        assert isinstance(parse_field_selector(text), FieldSelector)
