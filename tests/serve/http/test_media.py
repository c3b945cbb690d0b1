"""The forms in which answers are sent."""

from __future__ import annotations

import json

import pytest

from kontend.serve.http.media import answer_type, encode, head


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/yaml", "application/yaml"),
        ("application/json, application/yaml", "application/json"),
        ("application/json;q=0.1, application/yaml", "application/yaml"),
        ("text/html", "application/json"),
        ("application/yaml;q=x", "application/yaml"),
    ],
)
def test_the_first_type_that_can_be_had_is_chosen(accept: str, expected: str) -> None:
    """The client's weights decide before its order."""
    assert answer_type(accept) == expected


def test_numbers_beyond_64_bits_are_written() -> None:
    """Rarely, and slowly."""
    assert json.loads(encode({"n": 1 << 70}, "application/json")) == {"n": 1 << 70}


def test_a_warning_cannot_add_headers() -> None:
    """Texts with control characters are left out, as in kube-apiserver."""
    made = head(200, "id", "application/json", length=0, warnings=['say "hi"', "evil\r\nSet-Cookie: x"])
    assert b'Warning: 299 - "say \\"hi\\""\r\n' in made
    assert b"Set-Cookie" not in made
