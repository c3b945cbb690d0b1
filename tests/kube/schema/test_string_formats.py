"""The formats of strings."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.schema.string_formats import format_check, parse_lenient_duration

EXAMPLES = {
    "date-time": (["2024-01-01T00:00:00Z", "2024-01-01t00:00:00.5+01:00"], ["2024-01-01", "2024-13-01T00:00:00Z", "x"]),
    "date": (["2024-02-29"], ["2023-02-29", "2024-1-1"]),
    "duration": (["1h30m", "5 days", "22 ns"], ["", "x"]),
    "ipv4": (["10.0.0.1", "010.0.0.1"], ["10.0.0", "::1", "10.0.0.256"]),
    "ipv6": (["::1", "::ffff:1.2.3.4"], ["10.0.0.1", "fe80::1%eth0"]),
    "cidr": (["10.0.0.0/8", "::/0"], ["10.0.0.0", "10.0.0.0/33"]),
    "mac": (["00:11:22:33:44:55", "0011.2233.4455"], ["00:11:22", "00-11:22-33:44-55"]),
    "uuid": (["123E4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"], ["123e4567"]),
    "uuid4": (["123e4567-e89b-42d3-a456-426614174000"], ["123e4567-e89b-12d3-a456-426614174000"]),
    "byte": (["aGVsbG8="], ["", "a", "a-b_"]),
    "uri": (["https://a/b", "/p"], ["a", ""]),
    "email": (["a@b.c", "Ann <a@b.c>"], ["a", "@b"]),
    "hostname": (["a", "a.example.com"], ["-a", "a..b", ""]),
    "hexcolor": (["#fff", "ffffff"], ["#ff"]),
    "rgbcolor": (["rgb(1, 2, 3)"], ["rgb(1,2)", "rgb(256,0,0)"]),
    "ssn": (["123-45-6789"], ["123456789"]),
    "isbn": (["0321751043", "978-0321751041"], ["0321751044"]),
    "creditcard": (["4111 1111 1111 1111"], ["4111111111111112"]),
    "bsonobjectid": (["507f1f77bcf86cd799439011"], ["507f"]),
    "k8s-short-name": (["a-b"], ["a.b", "A", "a" * 64]),
    "k8s-long-name": (["a.b-c"], ["a..b"]),
    "password": (["", "anything"], []),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_format_takes_what_the_server_takes(name: str) -> None:
    check = format_check(name)
    assert check is not None
    good, bad = EXAMPLES[name]
    assert [text for text in good if not check(text)] == []
    assert [text for text in bad if check(text)] == []


@pytest.mark.parametrize("name", ["int32", "double", "foo", ""])
def test_other_formats_are_not_checked(name: str) -> None:
    assert format_check(name) is None


def test_words_for_units_add_up() -> None:
    assert parse_lenient_duration("1 day 2 hours") == 26 * 3600 * 10**9


@given(st.sampled_from(sorted(EXAMPLES)), st.text(max_size=12))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_any_text_is_checked_without_an_error(name: str, text: str) -> None:
    check = format_check(name)
    assert check is not None
    assert check(text) in (True, False)
