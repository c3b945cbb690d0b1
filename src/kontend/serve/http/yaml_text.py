"""Objects as YAML, in the style of the Go library that kube-apiserver writes it with.

A text that would be read as something else (a number, a time, a boolean, null) is in double quotes, one that breaks the
syntax in single quotes, and one of several lines is a literal block.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

#: Texts that YAML reads as something else than a text; the words of YAML 1.1 and 1.2.
_WORDS: Final = frozenset({
    "", "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE", "y", "Y", "yes", "Yes", "YES",
    "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF", ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF",
    "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
})  # fmt: skip
_NUMBER: Final = re.compile(
    r"[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*|(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?)"
    r"|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"
)
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ]+[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]*)?(Z|[-+][0-9]{1,2}:?[0-9]{0,2})?)?"
)


def to_yaml(body: Any) -> bytes:
    """Return a JSON value as YAML.

    >>> print(to_yaml({"a": "1", "b": "x: y", "c": ["z", None], "d": "2024-01-01"}).decode(), end="")
    a: "1"
    b: 'x: y'
    c:
    - z
    - null
    d: "2024-01-01"
    """
    import yaml  # slow to import, and rarely asked for

    text: str = yaml.dump(body, Dumper=_dumper(), default_flow_style=False, allow_unicode=True)
    return text.removesuffix("...\n").encode()  # libyaml marks the end after some literal blocks


@cache
def _dumper() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    dumper: Any = type("Dumper", (base,), {"ignore_aliases": lambda _self, _data: True})
    dumper.add_representer(str, _text)
    return dumper


def _text(dumper: Any, text: str) -> Any:
    style = None
    if "\n" in text:
        style = "|"
    elif text in _WORDS or _NUMBER.fullmatch(text) or _TIME.fullmatch(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
