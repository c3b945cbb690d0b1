"""JSON in YAML bodies: the fast way and the slow one give the same values."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kontend.kube.encoding import json_text
from kontend.kube.encoding.json_text import parse_yaml
from kontend.kube.encoding.yaml_text import not_yaml

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text() | st.sampled_from(["a", "<<", "y", "1"]), below),
    max_leaves=10,
)


@given(value=st.dictionaries(st.text(), _JSON), indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_json_means_the_same_when_it_is_read_quickly(value: Any, indent: int | None, ascii_only: bool) -> None:
    """A text that is JSON has the same value as YAML."""
    raw = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    quick = json_text._as_json(raw)
    if quick is not None:
        assert json.dumps(quick) == json.dumps(slow(raw))


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a": 1.0}', b'{"a": [1e3]}', b'{"a": 12345678901234567890}', b'{"a": "\\u00e9"}', b'{"a": "\\/"}',
        b'{"a":\t1}', b'{"a": 1, "a": 2}', b'{"a": 1, "a": 2, "b" : 3}', b'{"<<": {"b": 1}}', b"{}{}", b'{"a": y}',
        b'{"' + b"k" * 2000 + b'": 1}', b'{"' + b'\\"' * 2000 + b'": 1}',
        b'{"a": ' * 300 + b"1" + b"}" * 300, '{"a": "é"}'.encode(),
    ],
)  # fmt: skip
def test_json_that_yaml_may_read_differently_is_read_as_yaml(raw: bytes) -> None:
    """Numbers that are not whole, escapes, keys that are there twice, and so on."""
    assert json_text._as_json(raw) is None


def slow(raw: bytes) -> Any:
    """The value of a text that is read as YAML."""
    # A comment in front makes no difference but to the fast way.
    return parse_yaml(b"# a comment\n" + raw)[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:\n\t- b\n", "f.yaml:2: not YAML: found character '\\t' that cannot start any token; indent with spaces"),
        ("a: [b\n", "f.yaml:2: not YAML: expected ',' or ']', but got '<stream end>'"),
        ("a: @b\n", "f.yaml:1: not YAML: found character '@' that cannot start any token"),
    ],
)
def test_a_file_that_is_no_yaml_is_answered_with_its_line(text: str, message: str) -> None:
    with pytest.raises(yaml.YAMLError) as raised:
        yaml.safe_load(text)
    assert not_yaml("f.yaml", raised.value) == message
