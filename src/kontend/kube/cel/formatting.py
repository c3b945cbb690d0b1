"""``'…'.format([…])`` and ``strings.quote``."""

from __future__ import annotations

import math
import re
from typing import Any

from kontend.kube.cel.library import show, to_double, to_string
from kontend.kube.cel.values import Duration, EvalError, NoOverload, Timestamp, TypeValue, UInt, type_name
from kontend.kube.field_errors import go_quote

_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\",
    '"': '\\"',
}  # fmt: skip
_CLAUSE = re.compile(r"%(?:\.([0-9]+))?(.?)", re.DOTALL)


def quote(text: str) -> str:
    """A text as a literal of CEL."""
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'


def format_string(template: Any, values: Any) -> str:
    """A template filled with values."""
    if type(template) is not str or not isinstance(values, list):
        raise NoOverload
    rest = iter(enumerate(values))
    count = 0
    out: list[str] = []
    at = 0
    while at < len(template):
        if template[at] != "%":
            out.append(template[at])
            at += 1
            continue
        if template.startswith("%%", at):
            out.append("%")
            at += 2
            continue
        if at + 1 >= len(template):
            raise EvalError("unexpected end of string")
        found = _CLAUSE.match(template, at)
        assert found is not None
        at = found.end()
        item = next(rest, None)
        if item is None:
            raise EvalError(f"index {count} out of range")
        count += 1
        out.append(_clause(found[2], int(found[1]) if found[1] else None, item[1]))
    return "".join(out)


def _clause(letter: str, precision: int | None, value: Any) -> str:
    if letter == "s":
        return _as_text(value)
    if letter == "d":
        if type(value) in (int, UInt):
            return str(int(value))
        raise _wrong(f"decimal clause can only be used on integers, was given {type_name(value)}")
    if letter in ("f", "e"):
        return _as_float(letter, 6 if precision is None else precision, value)
    if letter == "b":
        if type(value) in (bool, int, UInt):
            return f"{int(value):b}"
        raise _wrong(f"only integers and bools can be formatted as binary, was given {type_name(value)}")
    if letter in ("x", "X"):
        return _as_hex(letter, value)
    if letter == "o":
        if type(value) in (int, UInt):
            return f"{int(value):o}"
        raise _wrong(f"octal clause can only be used on integers, was given {type_name(value)}")
    raise _wrong(f'could not parse formatting clause: unrecognized formatting clause "{letter}"', error="")


def _wrong(what: str, error: str = "error during formatting: ") -> EvalError:
    return EvalError(f"{error}{what}")


def _as_float(letter: str, precision: int, value: Any) -> str:
    if value in ("NaN", "Infinity", "-Infinity"):
        value = to_double(value)
    if type(value) is not float:
        name = "fixed-point" if letter == "f" else "scientific"
        raise _wrong(f"{name} clause can only be used on doubles, was given {type_name(value)}")
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if letter == "f":
        return f"{value:,.{precision}f}"
    mantissa, _, exponent = f"{value:.{precision}e}".partition("e")
    digits = exponent.lstrip("+-").zfill(2)
    power = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in digits)
    return f"{mantissa}\u202f×\u202f10{'⁻' if exponent.startswith('-') else ''}{power}"


def _as_hex(letter: str, value: Any) -> str:
    if type(value) in (int, UInt):
        text = f"{int(value):x}"
    elif type(value) is str:
        text = value.encode().hex()
    elif type(value) is bytes:
        text = value.hex()
    else:
        raise _wrong(f"only integers, byte buffers, and strings can be formatted as hex, was given {type_name(value)}")
    return text.upper() if letter == "X" else text


def _as_text(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return _nested(value)
    if value is None:
        return "null"
    if isinstance(value, (bool, int, float, str, bytes, Timestamp, Duration, TypeValue)):
        return to_string(value)
    raise _wrong(
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
        f"timestamps, was given {type_name(value)}"
    )


def _nested(value: Any) -> str:
    """A value inside a list or a map: written as a literal."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_nested, value)) + "]"
    if isinstance(value, dict):
        pairs = sorted((_nested(key), _nested(each)) for key, each in value.items())
        return "{" + ", ".join(f"{key}:{each}" for key, each in pairs) + "}"
    if type(value) is str:
        return go_quote(value)
    if type(value) is bytes:
        return "b" + go_quote(to_string(value))
    if type(value) is float:
        return f"{value:.6f}" if math.isfinite(value) else go_quote(show(value))
    if type(value) is Timestamp:
        return f"timestamp({go_quote(str(value))})"
    if type(value) is Duration:
        return f"duration({go_quote(str(value))})"
    if value is None or isinstance(value, (bool, int, TypeValue)):
        return _as_text(value)
    raise _wrong(f"no formatting function for {type_name(value)}")
