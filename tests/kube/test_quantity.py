"""Quantities."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.quantity import Quantity, QuantityError, canonical, parse

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2", "e0"]
TEXTS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.from_regex(r"[0-9]{1,6}(\.[0-9]{0,4})?", fullmatch=True),
    st.sampled_from(SUFFIXES),
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0", "0"),
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("100Mi", "100Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.1Gi", "107374182400m"),
        ("1000Ki", "1000Ki"),
        ("1023", "1023"),
        ("1024", "1024"),
        ("1000000", "1M"),
        ("1e3", "1e3"),
        ("1000e3", "1e6"),
        ("0.1n", "1n"),
        ("-0.5", "-500m"),
        ("100Ei", "9223372036854775807"),
        ("1000E", "1"),
        (" 5 ", "5"),
        ("+", "0"),
    ],
)
def test_a_quantity_is_written_with_the_largest_suffix_that_fits(text: str, written: str) -> None:
    assert canonical(text) == written


@pytest.mark.parametrize("text", ["1.500", "0100", "+1", "1E3", "1025Mi"])
def test_a_text_that_the_server_takes_for_canonical_stays(text: str) -> None:
    assert canonical(text) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("1 GB", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("1..5", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("1K", "unable to parse quantity's suffix"),
        ("1mm", "unable to parse quantity's suffix"),
        ("1e", "unable to parse quantity's suffix"),
        ("Ei", "unable to parse numeric part of quantity"),
    ],
)
def test_what_is_no_quantity_is_refused_in_the_servers_words(text: str, why: str) -> None:
    with pytest.raises(QuantityError) as caught:
        canonical(text)
    assert str(caught.value) == why


def test_a_huge_exponent_costs_nothing() -> None:
    assert canonical("1e2000000000") == "100e1999999998"
    assert parse("1Ei") < parse("1e2000000000")
    assert canonical("1e-2000000000") == "1e-9"
    assert parse("1e2000000000") - parse("1e2000000000") == parse("0")


@settings(derandomize=True, deadline=None, max_examples=300)
@given(TEXTS)
def test_writing_twice_is_writing_once(text: str) -> None:
    once = canonical(text)
    assert canonical(once) == once


@settings(derandomize=True, deadline=None, max_examples=300)
@given(TEXTS.filter(lambda text: not text.endswith("E")))
def test_writing_keeps_the_amount(text: str) -> None:
    assert parse(canonical(text)) == parse(text)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(TEXTS, TEXTS)
def test_addition_is_exact(left: str, right: str) -> None:
    one, other = parse(left), parse(right)
    assert Fraction((one + other).amount) == Fraction(one.amount) + Fraction(other.amount)
    assert one + other == other + one
    assert (one + other) - other == one
    assert (one < other) == (one.amount < other.amount)
    assert (one <= other) == (one.amount <= other.amount)


def test_a_sum_is_written_like_its_first_summand() -> None:
    assert str(parse("1Gi") + parse("1000")) == "1073742824"
    assert str(parse("1G") + parse("1Gi")) == "2073741824"
    assert str(parse("0") + parse("1Gi")) == "1Gi"
    assert str(parse("1500m") + parse("500m")) == "2"


def test_rounding_goes_away_from_zero() -> None:
    assert str(parse("1001u").round_up(3)) == "2m"
    assert str(parse("-1001u").round_up(3)) == "-2m"
    assert parse("1.500").round_up(3) is parse("1.500")


def test_quantities_of_one_amount_are_one_key() -> None:
    assert len({parse("1"), parse("1000m"), Quantity(Decimal(1), "BinarySI")}) == 1
