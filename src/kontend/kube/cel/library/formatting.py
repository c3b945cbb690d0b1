"""``'…'.format([…])`` and ``strings.quote``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Final

from kontend.kube.cel.library.conversions import to_double, to_string
from kontend.kube.cel.library.functions import show
from kontend.kube.cel.values import Duration, EvalError, NoOverload, Timestamp, TypeValue, UInt, type_name
from kontend.kube.field_errors import go_quote
from kontend.kube.golang.strconv import whole_number

_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\",
    '"': '\\"',
}  # fmt: skip
#: Digits after the point; Go has no limit, and fills the memory.
_MAX_PRECISION: Final = 1000
_CLAUSE = re.compile(r"%(?:\.([0-9]+))?(.?)", re.DOTALL)


def quote(text: str) -> str:
    """Return a text as a literal of CEL."""
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'


#: The types that a clause takes, and the message about others.
CLAUSES: Final[dict[str, tuple[frozenset[str], str]]] = {
    "s": (
        frozenset({"list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type",
                   "null"}),
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
        "timestamps, was given ",
    ),
    "d": (frozenset({"int", "uint"}), "decimal clause can only be used on integers, was given "),
    "f": (frozenset({"double", "string"}), "fixed-point clause can only be used on doubles, was given "),
    "e": (frozenset({"double", "string"}), "scientific clause can only be used on doubles, was given "),
    "b": (frozenset({"int", "uint", "bool"}), "only integers and bools can be formatted as binary, was given "),
    "x": (
        frozenset({"int", "uint", "string", "bytes"}),
        "only integers, byte buffers, and strings can be formatted as hex, was given ",
    ),
    "o": (frozenset({"int", "uint"}), "octal clause can only be used on integers, was given "),
}  # fmt: skip


def clauses(template: str, count: int) -> Iterator[str | tuple[str, int | None]]:
    """Yield the parts of a template: texts, and clauses with their precision; ``count`` values are there to fill
    them."""
    at = used = 0
    while at < len(template):
        end = template.find("%", at)
        if end < 0:
            yield template[at:]
            return
        if end > at:
            yield template[at:end]
        at = end
        if template.startswith("%%", at):
            yield "%"
            at += 2
            continue
        if at + 1 >= len(template):
            raise EvalError("unexpected end of string")
        if used >= count:
            raise EvalError(f"index {used} out of range")
        used += 1
        match = _CLAUSE.match(template, at)
        assert match is not None
        if match[2].lower() not in CLAUSES or (match[2].isupper() and match[2] != "X"):
            raise EvalError(f'could not parse formatting clause: unrecognized formatting clause "{match[2]}"')
        precision = whole_number(match[1]) if match[1] else None
        if precision is not None and precision > _MAX_PRECISION:
            raise EvalError(f"could not parse formatting clause: precision {match[1][:20]} is too large")
        yield match[2], precision
        at = match.end()


def format_string(template: Any, values: Any) -> str:
    """Return a template filled with values."""
    if type(template) is not str or not isinstance(values, list):
        raise NoOverload
    rest = iter(values)
    return "".join(
        part if isinstance(part, str) else _clause(*part, next(rest)) for part in clauses(template, len(values))
    )


def _clause(letter: str, precision: int | None, value: Any) -> str:
    if letter == "s":
        return _as_text(value)
    if letter in ("f", "e"):
        return _as_float(letter, 6 if precision is None else precision, value)
    if letter in ("x", "X"):
        return _as_hex(letter, value)
    if type(value) in (int, UInt) or (letter == "b" and type(value) is bool):
        return format(int(value), letter)
    raise _wrong(letter, value)


def _wrong(letter: str, value: Any) -> EvalError:
    return EvalError(f"error during formatting: {CLAUSES[letter.lower()][1]}{type_name(value)}")


def _as_float(letter: str, precision: int, value: Any) -> str:
    if value in ("NaN", "Infinity", "-Infinity"):
        value = to_double(value)
    if type(value) is not float:
        raise _wrong(letter, value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if letter == "f":
        return f"{value:,.{precision}f}"
    mantissa, _, exponent = f"{value:.{precision}e}".partition("e")
    digits = exponent.lstrip("+-").zfill(2)
    power = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in digits)
    return f"{mantissa}×10{'⁻' if exponent.startswith('-') else ''}{power}"


def _as_hex(letter: str, value: Any) -> str:
    if type(value) in (int, UInt):
        text = f"{int(value):x}"
    elif type(value) is str:
        text = value.encode().hex()
    elif type(value) is bytes:
        text = value.hex()
    else:
        raise _wrong(letter, value)
    return str(text.upper() if letter == "X" else text)


def _as_text(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return _nested(value)
    if value is None:
        return "null"
    if isinstance(value, (bool, int, float, str, bytes, Timestamp, Duration, TypeValue)):
        return to_string(value)
    raise _wrong("s", value)


def _nested(value: Any) -> str:
    """Return a value inside a list or a map: written as a literal."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_nested, value)) + "]"
    if isinstance(value, dict):
        pairs = sorted((_nested(key), _nested(child)) for key, child in value.items())
        return "{" + ", ".join(f"{key}:{text}" for key, text in pairs) + "}"
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
    raise EvalError(f"error during formatting: no formatting function for {type_name(value)}")
