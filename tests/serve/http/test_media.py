"""The forms in which answers are sent."""

from __future__ import annotations

import json

import pytest
import yaml

from kontend.serve.http.media import answer_type, encode, head
from kontend.serve.http.yaml_text import to_yaml


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


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"), ("1", '"1"'), ("1e3", '"1e3"'), ("0x1f", '"0x1f"'), ("1_000", '"1_000"'),
        ("12:30", '"12:30"'), ("", '""'), ("~", '"~"'), ("null", '"null"'), ("yes", '"yes"'), ("y", '"y"'),
        ("off", '"off"'), (".inf", '".inf"'), ("2024-01-01", '"2024-01-01"'), ("1.2.3", "1.2.3"), ("10Mi", "10Mi"),
        ("2024-01-01T00:00:00Z", '"2024-01-01T00:00:00Z"'), ("x: y", "'x: y'"), ("- a", "'- a'"), ("it's", "it's"),
        ("#c", "'#c'"), ("a\nb", "|-\n  a\n  b"), ("a\nb\n", "|\n  a\n  b"), ("日本", "日本"),
    ],
)  # fmt: skip
def test_yaml_is_written_as_kube_apiserver_writes_it(text: str, written: str) -> None:
    assert to_yaml({"key": text}).decode() == f"key: {written}\n"
    assert yaml.safe_load(to_yaml({"key": text})) == {"key": text}
