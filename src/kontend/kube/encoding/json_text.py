"""The text of requests and of stored objects: JSON and YAML in, canonical JSON out.

A fast parser reads the bodies; only what it refuses, and what Go would read differently, goes through the slow reader
in :mod:`kontend.kube.encoding.json_syntax`, which knows Go's error texts. In the other direction, :func:`canonical`
writes an object so that equal objects have equal bytes, and says where an object holds something that JSON cannot.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from kontend.kube.encoding.json_syntax import MAX_DEPTH, MalformedJSON, MalformedYAML, read
from kontend.kube.errors import BadRequest
from kontend.kube.field_errors import go_quote

__all__ = ["InvalidObject", "MalformedJSON", "MalformedYAML", "canonical", "parse_json", "parse_yaml", "summary"]

#: Not those in digests.
_LONG_INTEGER: Final = re.compile(rb"(?:^|[:\[,])[ \t\r\n]*-?[0-9]{19}")
_KEY_END: Final = re.compile(rb'"[ \t\r\n]*:')
#: Escapes other than of quotes, backslashes and line feeds, control characters, merge keys, fractions, exponents,
#: integers beyond 64 bits, keys beyond YAML's limit.
_NOT_PLAIN: Final = re.compile(
    rb"""(?<!\\)(?:\\\\)*\\(?!["\\n])|[\x00-\x09\x0b-\x1f\x7f]"""
    rb"""|"<<"|(?:"[ \n]*:|[\[,])[ \n]*-?(?:[0-9]+[.eE]|[0-9]{19})"""
    rb"""|"(?:[^"\\]|\\.){1000,}"[ \n]*:"""
)
#: A number as the encoder writes it; within a string now and then.
_WHOLE_FRACTION: Final = re.compile(rb"(?:^|[:\[,])-?[0-9]+\.0(?:[,}\]]|$)")
_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


class InvalidObject(BadRequest):
    """An object made in Python that cannot be written as JSON; the message names the place."""


def parse_json(raw: bytes, *, find_duplicates: bool = False) -> tuple[Any, list[str]]:
    """Return the value in ``raw`` and, when asked for, the paths of keys that stand in it twice (the last one counts).

    Raises :class:`MalformedJSON` with Go's message, which callers put into a sentence of their own.

    >>> parse_json(b'{"a": [1, {"b": 1, "b": 2}]}', find_duplicates=True)
    ({'a': [1, {'b': 2}]}, ['a[1].b'])
    >>> parse_json(b"{oops")
    Traceback (most recent call last):
    kontend.kube.encoding.json_syntax.MalformedJSON: invalid character 'o' looking for beginning of object key string
    """
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return read(raw)
    # Go reads whole numbers as int64 and what does not fit as float64.
    if _LONG_INTEGER.search(raw):
        return read(raw)
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH:
        try:
            orjson.dumps(value)
        except TypeError:
            return read(raw)
    if find_duplicates and _may_repeat_keys(raw, value):
        return read(raw)
    return value, []


def parse_yaml(raw: bytes, *, find_duplicates: bool = False) -> tuple[Any, list[str]]:
    """Return the value of the first document in ``raw``, and the server's complaint (at most one) about repeated
    keys."""
    if raw[:1] == b"{" and (value := _as_json(raw)) is not None:
        return value, []
    from kontend.kube.encoding import yaml_text  # PyYAML takes a tenth of a second to import, and few bodies are YAML

    return yaml_text.parse_yaml(raw, find_duplicates=find_duplicates)


def _as_json(raw: bytes) -> dict[str, Any] | None:
    """Return the value of a text that means the same as JSON and as YAML, or None where it may not.

    Clients apply JSON more often than YAML, and JSON is read a hundred times as fast. The text must be plain: ASCII
    without rare escapes and tabs, with whole numbers only, short keys, and no key twice.

    >>> _as_json(b'{"a": [1, "y"]}'), _as_json(b'{"a": 1.5}'), _as_json(b'{"a": 1, "a": 2}'), _as_json(b"{a: b}")
    ({'a': [1, 'y']}, None, None, None)
    >>> _as_json(b'{"a": "sha256:0000000000000000000"}'), _as_json(b'{"a": 12345678901234567890}')
    ({'a': 'sha256:0000000000000000000'}, None)
    >>> _as_json(rb'{"a": "HTTP/1.0\\\\r"}'), _as_json(rb'{"a": "\\r"}')
    ({'a': 'HTTP/1.0\\\\r'}, None)
    """
    if not raw.isascii() or _NOT_PLAIN.search(raw) is not None or raw.count(b"{") + raw.count(b"[") > MAX_DEPTH:
        return None
    try:
        value: dict[str, Any] = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    # As many keys in the value as in the text: none is there twice.
    return value if len(_KEY_END.findall(raw)) == len(_KEY_END.findall(orjson.dumps(value))) else None


def _may_repeat_keys(raw: bytes, value: Any) -> bool:
    """Report whether the text may repeat keys: it has more than the value, or escapes that may hide quotes."""
    if b"\\u" in raw:
        return True
    if not (b'" ' in raw or b'"\n' in raw or b'"\t' in raw or b'"\r' in raw):
        # Compact, as clients write it: keys can be counted without a regular expression.
        return raw.count(b'":') != orjson.dumps(value).count(b'":')
    return len(_KEY_END.findall(raw)) != len(_KEY_END.findall(orjson.dumps(value)))


def summary(raw: bytes, most: int = 30) -> str:
    """Return the beginning of a body, as the server quotes one that it does not recognise.

    >>> summary(b"{oops"), summary(b""), summary(b"ab")
    ('{oops', '<empty>', '6162')
    """
    if not raw:
        return "<empty>"
    if raw[:1] == b"{":
        if len(raw) > most:
            return raw[:most].decode("utf-8", "replace") + " ..."
        return raw.decode("utf-8", "replace")
    return raw[:most].hex() + (" ..." if len(raw) > most else "")


def canonical(obj: Any) -> bytes:
    """``obj`` as JSON with sorted keys; equal objects have equal bytes.

    Raises :class:`InvalidObject` for what JSON cannot hold: NaN, keys that are not strings, cycles, other types.

    >>> canonical({"b": [1, 2.0], "a": None})
    b'{"a":null,"b":[1,2]}'
    >>> canonical({"spec": {"replicas": float("nan")}})
    Traceback (most recent call last):
    kontend.kube.encoding.json_text.InvalidObject: spec.replicas: NaN and Infinity cannot be written as JSON
    """
    try:
        data = orjson.dumps(obj, option=_OPTIONS)
    except TypeError as error:
        _check(obj, "", set())
        raise InvalidObject(f"the object cannot be written as JSON: {error}") from error
    # The encoder writes NaN as null: a null is the only sign of one. Objects of Go clients are full of nulls, and to
    # read them back is ten times as fast as to look at each value.
    if b"null" in data and orjson.loads(data) != obj:
        _check(obj, "", set())
    # Go writes 2.0 as 2. Images and addresses have such digits, too.
    if b".0" in data and _WHOLE_FRACTION.search(data) is not None:
        data = orjson.dumps(_with_whole_numbers(obj), option=_OPTIONS)
    return data


def same_json(one: Any, other: Any) -> bool:
    """Report whether two values are the same JSON: 1, 1.0 and true are three.

    >>> same_json({"a": 1}, {"a": 1}), same_json([1], [True]), same_json(1, 1.0)
    (True, False, False)
    """
    return bool(one == other) and orjson.dumps(one, option=_OPTIONS) == orjson.dumps(other, option=_OPTIONS)


def _check(value: Any, path: str, parents: set[int]) -> None:
    """Raise for the first thing below ``value`` that JSON cannot hold."""
    where = path or "the object"
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidObject(f"{where}: half of a surrogate pair is not text: {go_quote(value)}") from None
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise InvalidObject(f"{where}: {value} does not fit into 64 bits")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidObject(f"{where}: NaN and Infinity cannot be written as JSON")
    elif isinstance(value, (dict, list, tuple)):
        if id(value) in parents:
            raise InvalidObject(f"{where}: the object contains itself")
        if len(parents) >= MAX_DEPTH:
            raise InvalidObject(f"{where}: nested more than {MAX_DEPTH} levels deep")
        parents.add(id(value))
        if isinstance(value, dict):
            for key, child in value.items():
                if not isinstance(key, str):
                    raise InvalidObject(f"{where}: keys must be strings, found {key!r} of type {type(key).__name__}")
                _check(child, f"{path}.{key}" if path else key, parents)
        else:
            for index, item in enumerate(value):
                _check(item, f"{path}[{index}]", parents)
        parents.discard(id(value))
    else:
        expected = "a dict, list, str, int, float, bool or None"
        raise InvalidObject(f"{where}: expected {expected}, found {type(value).__name__}")


def _with_whole_numbers(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and -(2.0**63) <= value < 2.0**63 else value
    if isinstance(value, Mapping):
        return {key: _with_whole_numbers(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_whole_numbers(item) for item in value]
    return value
