"""Texts of requests in, canonical JSON out."""

from __future__ import annotations

import contextlib
import math
import tracemalloc
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.encoding.json_syntax import read
from kontend.kube.encoding.json_text import (
    InvalidObject,
    MalformedJSON,
    MalformedYAML,
    canonical,
    parse_json,
    parse_yaml,
    summary,
)
from kontend.kube.errors import BadRequest


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b"  ", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b'{"a"', "unexpected end of JSON input"),
        (b'{"a":', "unexpected end of JSON input"),
        (b'{"a":1', "unexpected end of JSON input"),
        (b'"abc', "unexpected end of JSON input"),
        (b"{oops", "invalid character 'o' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"'a'", "invalid character '\\'' looking for beginning of value"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b"[Infinity]", "invalid character 'I' looking for beginning of value"),
        (b"tru", "invalid character ' ' in literal true (expecting 'e')"),
        (b"nul!", "invalid character '!' in literal null (expecting 'l')"),
        (b"-", "invalid character ' ' in numeric literal"),
        (b"[-a]", "invalid character 'a' in numeric literal"),
        (b"[1.]", "invalid character ']' after decimal point in numeric literal"),
        (b"[1.5.5]", "invalid character '.' after array element"),
        (b"[1e]", "invalid character ']' in exponent of numeric literal"),
        (b"[1e+]", "invalid character ']' in exponent of numeric literal"),
        (b"01", "invalid character '1' after top-level value"),
        (b'"\n"', "invalid character '\\n' in string literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\', "invalid character ' ' in string escape code"),
        (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"),
        (b"\x00", "invalid character '\\x00' looking for beginning of value"),
        (b"1e400", "json: cannot unmarshal number 1e400 into Go value of type float64"),
        (b"[" * 300 + b"]" * 300, "invalid character '[' exceeded max depth"),
    ],
)
def test_malformed_json_is_told_in_the_words_of_go(raw: bytes, message: str) -> None:
    with pytest.raises(MalformedJSON) as refused:
        parse_json(raw)
    assert refused.value.message == message


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'"\xff\xfea"', "\ufffd\ufffda"),
        (b'"\\ud800x"', "\ufffdx"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\ud83d\\ude00\\ud800"', "\U0001f600\ufffd"),
        (b"9223372036854775807", 9223372036854775807),
        (b"-9223372036854775808", -9223372036854775808),
        (b"9223372036854775808", 9223372036854775808.0),
        (b"[1e3, -0, 2.0]", [1000.0, 0, 2.0]),
    ],
)
def test_what_go_accepts_is_accepted(raw: bytes, value: Any) -> None:
    parsed = parse_json(raw)[0]
    assert parsed == value
    assert type(parsed) is type(value)


def test_two_hundred_levels_are_fine() -> None:
    value = parse_json(b"[" * 200 + b"]" * 200)[0]
    assert canonical(value) == b"[" * 200 + b"]" * 200


@pytest.mark.parametrize(
    ("raw", "paths"),
    [
        (b'{"spec":{"size":1,"size":2}}', ["spec.size"]),
        (b'{"a":1, "a" :2}', ["a"]),
        (b'{"a":[{"b":1,"b":2,"b":3}],"a":0}', ["a[0].b", "a"]),
        (b'[{"b":"\\":","b":"\\u0022:"}]', ["[0].b"]),
        (b'{"a":"x\\" :","b":{"a":1}}', []),
        (b'{"a":1,"a":2,"b" :3}', ["a"]),
        (b'{"a":1,"a":2,"b"\n:3}', ["a"]),
    ],
)
def test_repeated_keys_are_found_when_asked_for(raw: bytes, paths: list[str]) -> None:
    assert parse_json(raw, find_duplicates=True)[1] == paths
    assert parse_json(raw)[1] == []


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"a": [1, math.nan]}, "a[1]: NaN and Infinity cannot be written as JSON"),
        ({"a": {"b": -math.inf}}, "a.b: NaN and Infinity cannot be written as JSON"),
        ({"a": {1: "x"}}, "a: keys must be strings, found 1 of type int"),
        ({"a": object()}, "a: expected a dict, list, str, int, float, bool or None, found object"),
        ({"a": {1, 2}}, "a: expected a dict, list, str, int, float, bool or None, found set"),
        ({"a": "\ud800"}, 'a: half of a surrogate pair is not text: "\\ud800"'),
        ({"a": 2**70}, f"a: {2**70} does not fit into 64 bits"),
        (math.nan, "the object: NaN and Infinity cannot be written as JSON"),
    ],
)
def test_what_json_cannot_hold_is_named_with_its_place(obj: Any, message: str) -> None:
    with pytest.raises(InvalidObject) as refused:
        canonical(obj)
    assert refused.value.message == message
    assert isinstance(refused.value, BadRequest)


def test_an_object_that_contains_itself_is_refused() -> None:
    obj: dict[str, Any] = {"a": []}
    obj["a"].append(obj)
    with pytest.raises(InvalidObject, match=r"a\[0\]: the object contains itself"):
        canonical(obj)


def test_canonical_text_does_not_depend_on_order_or_on_how_whole_numbers_came() -> None:
    assert canonical({"b": 1.0, "a": [-0.0, 2.5]}) == canonical({"a": [0, 2.5], "b": 1}) == b'{"a":[0,2.5],"b":1}'
    assert canonical({"image": "app:1.0"}) == b'{"image":"app:1.0"}'


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", "<empty>"),
        (b"{oops", "{oops"),
        (b"{" + b"x" * 40, "{" + "x" * 29 + " ..."),
        (b"ab", "6162"),
        (b"a" * 31, "61" * 30 + " ..."),
    ],
)
def test_a_body_is_summarised_as_the_server_does(raw: bytes, text: str) -> None:
    assert summary(raw) == text


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"apiVersion: v1\nmetadata:\n  name: y\n", {"apiVersion": "v1", "metadata": {"name": True}}),
        (b"a: [yes, No, on, OFF, ~, null, '']\n", {"a": [True, False, True, False, None, None, ""]}),
        (
            b"[0755, 0o17, 0x1F, 0b11, -0b11, 1_000, 08, 1e3, .5, +3, 12:30]",
            [493, 15, 31, 3, -3, 1000, 8.0, 1e3, 0.5, 3, "12:30"],
        ),
        (
            b"a: 2024-01-01T00:00:00Z\nb: 1.2.3\nc: !!str 12\nd: !!float 3\n",
            {"a": "2024-01-01T00:00:00Z", "b": "1.2.3", "c": "12", "d": 3.0},
        ),
        (b"x: &a {k: 1}\nz:\n  <<: *a\n  l: 2\n", {"x": {"k": 1}, "z": {"k": 1, "l": 2}}),
        (b"1: a\ntrue: b\n1.5: c\n", {"1": "a", "true": "b", "1.5": "c"}),
        (b"a: 1\n---\nb: [\n", {"a": 1}),
        (b'{"a": "\\u00e9", "b": [1]}', {"a": "é", "b": [1]}),
        (b"", None),
        (b"- |\n  two\n  lines\n", ["two\nlines\n"]),
    ],
)
def test_yaml_is_read_as_the_server_reads_it(raw: bytes, value: Any) -> None:
    assert parse_yaml(raw)[0] == value


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"a: b: c\n", "yaml: mapping values are not allowed in this context"),
        (b"x: 1\na: b: c\n", "yaml: line 2: mapping values are not allowed in this context"),
        (b"k: *x\n", "yaml: unknown anchor 'x' referenced"),
        (b"k: !!int x\n", "yaml: cannot decode !!str `x` as a !!int"),
        (b"k: @a\n", "yaml: found character that cannot start any token"),
        (b"<<: 1\n", "yaml: map merge requires map or sequence of maps as the value"),
        (b"k: !!binary '?'\n", "yaml: !!binary value contains invalid base64 data"),
    ],
)
def test_bad_yaml_is_told_in_the_servers_words(raw: bytes, message: str) -> None:
    with pytest.raises(MalformedYAML) as refused:
        parse_yaml(raw)
    assert refused.value.message == message


def test_repeated_keys_in_yaml_are_one_complaint() -> None:
    raw = b"a: 1\nb:\n  c: 1\n  c: 2\na:\n  3\n"
    assert parse_yaml(raw, find_duplicates=True) == (
        {"a": 3, "b": {"c": 2}},
        ['yaml: unmarshal errors:\n  line 4: key "c" already set in map\n  line 6: key "a" already set in map'],
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"a: b: c\n",
        b"a: [1\n",
        b"\ta: 1\n",
        b"a: *nope\n",
        b"&a [*a]\n",
        b"a: .nan\n",
        b"? [1]\n: 2\n",
        b"~: 1\n",
        b"<<: 1\n",
        b"a: !!int x\n",
        b"\xff",
        b"a: \x01",
    ],
)
def test_bad_yaml_is_refused_cleanly(raw: bytes) -> None:
    with pytest.raises(MalformedYAML):
        parse_yaml(raw)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.binary(max_size=20) | st.text('{}[]":,\\u0189-.eE ntf\n', max_size=20).map(str.encode))
def test_garbage_raises_the_typed_errors_only(raw: bytes) -> None:
    for parse in (parse_json, parse_yaml):
        with contextlib.suppress(MalformedJSON, MalformedYAML):
            canonical(parse(raw, find_duplicates=True)[0])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(JSON)
def test_the_slow_reader_agrees_with_the_fast_one(value: Any) -> None:
    raw = orjson.dumps(value)
    assert read(raw) == (orjson.loads(raw), [])


@settings(derandomize=True, deadline=None, max_examples=200)
@given(JSON)
def test_canonical_text_reads_back_and_stays_the_same(value: Any) -> None:
    text = canonical(value)
    assert parse_json(text)[0] == value
    assert canonical(parse_json(text)[0]) == text


@pytest.mark.parametrize(
    "text",
    [
        'x: &a "' + "z" * 500_000 + '"\ny: [' + ",".join(["*a"] * 2000) + "]",
        "a0: &a0 [1,2,3,4,5,6,7,8,9]\n"
        + "\n".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)),
        "m: &m {" + ", ".join(f"k{n}: 1" for n in range(500)) + "}\nl: [" + ",".join(["{<<: *m}"] * 50_000) + "]",
    ],
)
def test_aliases_that_blow_up_a_document_are_refused(text: str) -> None:
    """Before the memory is full."""
    with pytest.raises(MalformedYAML) as refused:
        parse_yaml(text.encode())
    assert str(refused.value) == "yaml: document contains excessive aliasing"


def test_aliases_may_be_used_as_people_use_them() -> None:
    """Also many of them, and documents with many nodes and none of them."""
    base = "base: &base {a: 1, b: [1, 2]}\nuses:\n"
    value, _ = parse_yaml((base + "- *base\n" * 90 + "- {<<: *base, c: 2}\n").encode())
    assert value["uses"] == [{"a": 1, "b": [1, 2]}] * 90 + [{"a": 1, "b": [1, 2], "c": 2}]
    assert len(parse_yaml(b"[" + b"1," * 50_000 + b"1]")[0]) == 50_001


@pytest.mark.parametrize("text", ["9" * 5000, "-" + "9" * 5000, "0x" + "f" * 5000, "0b" + "1" * 5000, "0" + "7" * 5000])
def test_an_integer_that_no_float_can_hold_is_text(text: str) -> None:
    """As the server's YAML library reads it."""
    assert parse_yaml(text.encode())[0] == text


def test_long_keys_that_are_nested_take_no_more_memory_than_their_text() -> None:
    """The path of a value is written only where a message names it."""
    key = "k" * 12_000
    raw = (f'{{"{key}":' * 240 + '{"a":1,"a":2}' + "}" * 240).encode()
    tracemalloc.start()
    _, duplicates = parse_json(raw, find_duplicates=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert duplicates == [".".join([key] * 240) + ".a"]
    assert peak < 40_000_000
