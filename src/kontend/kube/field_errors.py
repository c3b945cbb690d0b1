"""Errors about one field of an object, with the texts of kube-apiserver.

A :class:`FieldError` is the atom of validation: where (``spec.ports[1].name``), which kind of mistake, the offending
value and a detail. A list of them becomes one ``Invalid`` error with a cause for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import orjson

_EXPONENT: Final = re.compile(r"\de[-+]?\d")

REQUIRED: Final = "FieldValueRequired"
INVALID: Final = "FieldValueInvalid"
TYPE_INVALID: Final = "FieldValueTypeInvalid"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
NOT_FOUND: Final = "FieldValueNotFound"
DUPLICATE: Final = "FieldValueDuplicate"
FORBIDDEN: Final = "FieldValueForbidden"
TOO_LONG: Final = "FieldValueTooLong"
TOO_MANY: Final = "FieldValueTooMany"
INTERNAL: Final = "InternalError"

_TITLES: Final = {
    REQUIRED: "Required value",
    INVALID: "Invalid value",
    TYPE_INVALID: "Invalid value",
    NOT_SUPPORTED: "Unsupported value",
    NOT_FOUND: "Not found",
    DUPLICATE: "Duplicate value",
    FORBIDDEN: "Forbidden",
    TOO_LONG: "Too long",
    TOO_MANY: "Too many",
    INTERNAL: "Internal error",
}
_WITHOUT_VALUE: Final = frozenset({REQUIRED, FORBIDDEN, TOO_LONG, INTERNAL})

_GO_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


class _Omitted:
    """Stands for a bad value that the message leaves out."""

    def __repr__(self) -> str:
        return "OMITTED"


OMITTED: Final = _Omitted()


class Verbatim(str):
    """A bad value that is already written the way the message shows it (a Go struct keeps the order of its fields)."""


def go_quote(text: str) -> str:
    """``text`` as Go's ``%q`` prints it.

    >>> go_quote('a "b"\\n')
    '"a \\\\"b\\\\"\\\\n"'
    """
    out = []
    for char in text:
        escaped = _GO_ESCAPES.get(char)
        if escaped is not None:
            out.append(escaped)
        elif char.isprintable() or char == " ":
            out.append(char)
        elif ord(char) < 0x80:
            out.append(f"\\x{ord(char):02x}")
        elif ord(char) < 0x10000:
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(f"\\U{ord(char):08x}")
    return '"' + "".join(out) + '"'


def go_value(value: Any) -> str:
    """Return a bad value as it appears in an error message: scalars plain, strings quoted, the rest as JSON.

    >>> go_value(3), go_value("x"), go_value({"b": [1]}), go_value(None)
    ('3', '"x"', '{"b":[1]}', 'null')
    """
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return str(value) if isinstance(value, Verbatim) else go_quote(value)
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, int):
        return str(value)
    return go_json(value)


def go_float(value: float) -> str:
    """Return a float as Go's ``%v`` prints it.

    >>> go_float(1.5), go_float(3.0), go_float(1e21)
    ('1.5', '3', '1e+21')
    """
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    if "e" in text:
        mantissa, exponent = text.split("e")
        sign = exponent[0] if exponent[0] in "+-" else "+"
        return f"{mantissa.removesuffix('.0')}e{sign}{exponent.lstrip('+-').zfill(2)}"
    return text


def go_json(value: Any, *, sort_keys: bool = True) -> str:
    """JSON as Go's encoder writes it: keys of maps sorted, ``<``, ``>`` and ``&`` escaped."""
    option = orjson.OPT_SORT_KEYS if sort_keys else None
    text = orjson.dumps(value, option=option).decode()
    if ".0" in text or _EXPONENT.search(text) is not None:
        text = orjson.dumps(_go_numbers(value), option=option).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def go_json_float(value: float) -> str:
    """Return a float as Go's JSON encoder writes it.

    >>> [go_json_float(number) for number in (2.0, 1.5, 2.0**64, 1e21, 1e-6, 1e-7)]
    ['2', '1.5', '18446744073709552000', '1e+21', '0.000001', '1e-7']
    """
    text = repr(value)
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return format(Decimal(text), "f").removesuffix(".0")
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{exponent[:1]}{exponent[1:].lstrip('0')}"


def _go_numbers(value: Any) -> Any:
    if isinstance(value, float):
        return orjson.Fragment(go_json_float(value))
    if isinstance(value, dict):
        return {key: _go_numbers(child) for key, child in value.items()}
    return [_go_numbers(item) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class FieldError:
    """One mistake at one place."""

    type: str
    field: str
    detail: str = ""
    value: Any = OMITTED

    @property
    def body(self) -> str:
        """The message without the field's name."""
        text = _TITLES[self.type]
        if self.type not in _WITHOUT_VALUE and self.value is not OMITTED:
            text += ": " + go_value(self.value)
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"

    def cause(self) -> dict[str, str]:
        """Return the entry of ``details.causes`` for this mistake."""
        cause = {"reason": self.type, "message": self.body}
        if self.field:
            cause["field"] = self.field
        return cause


def required(field: str, detail: str = "") -> FieldError:
    """Return a value that must be there and is not."""
    return FieldError(REQUIRED, field, detail)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """Return a malformed value."""
    return FieldError(INVALID, field, detail, value)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """Return a value outside an enumeration.

    >>> str(not_supported("spec.color", "pink", ["blue", "red"]))
    'spec.color: Unsupported value: "pink": supported values: "blue", "red"'
    """
    quoted = ", ".join(go_quote(value) for value in supported)
    return FieldError(NOT_SUPPORTED, field, f"supported values: {quoted}" if quoted else "", value)


def not_found(field: str, value: Any) -> FieldError:
    """Return a reference to something that is not there."""
    return FieldError(NOT_FOUND, field, "", value)


def duplicate(field: str, value: Any) -> FieldError:
    """Return a value that must be unique and is not."""
    return FieldError(DUPLICATE, field, "", value)


def forbidden(field: str, detail: str) -> FieldError:
    """Return a value that may not be given here and now."""
    return FieldError(FORBIDDEN, field, detail)


def too_long(field: str, most: int) -> FieldError:
    """Return a string longer than ``most`` bytes (a negative ``most`` names no limit)."""
    if most < 0:
        return FieldError(TOO_LONG, field, "value is too long")
    return FieldError(TOO_LONG, field, f"may not be more than {most} {'byte' if most == 1 else 'bytes'}")


def too_many(field: str, count: int, most: int) -> FieldError:
    """Return a list with more than ``most`` items (a negative ``most`` names no limit)."""
    if most < 0:
        detail = "has too many items"
    else:
        detail = f"must have at most {most} {'item' if most == 1 else 'items'}"
    return FieldError(TOO_MANY, field, detail, count if count >= 0 else OMITTED)


def internal(field: str, detail: str) -> FieldError:
    """Return a mistake that is not the user's."""
    return FieldError(INTERNAL, field, detail)


def aggregate(errors: Sequence[FieldError]) -> str:
    """All messages in one line, as Go's aggregate prints them: each once, in brackets when there are several."""
    messages = list(dict.fromkeys(str(error) for error in errors))
    return messages[0] if len(messages) == 1 else "[" + ", ".join(messages) + "]"
