"""Quantities: the numbers with a suffix in which Kubernetes counts CPU, memory and storage.

The server never stores what was sent: it parses a quantity and writes it back in canonical form, with the largest
suffix of the same family that needs no fraction (``0.5`` becomes ``500m``, ``1024Mi`` becomes ``1Gi``). Only a text
that its quick test takes for canonical stays as it is (``1.500`` is one), and that is followed here, because a no-op
write must stay a no-op.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Final, Literal

from kontend.kube.golang.strconv import whole_number

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_PATTERN: Final = r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_PARTS: Final = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_DIGIT: Final = re.compile("[0-9]")
_EXPONENT: Final = re.compile(r"[+-]?[0-9]+")

_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {0: "", **{exponent: suffix for suffix, exponent in _BINARY.items()}}

_MOST: Final = Decimal(2**63 - 1)
_NANO: Final = Decimal(1).scaleb(-9)
#: Wide enough that no sum of quantities is rounded.
_EXACT: Final = Context(prec=4000, Emax=MAX_EMAX, Emin=MIN_EMIN)


class QuantityError(ValueError):
    """A text that is no quantity; the message is the server's."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount and the family of suffixes it is written with."""

    amount: Decimal
    format: Format = "DecimalSI"
    #: The text it came from, if that counts as canonical.
    text: str = ""

    def __str__(self) -> str:
        return self.text or _canonical(self.amount, self.format)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(_EXACT.add(self.amount, other.amount), self.format if self.amount else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(_EXACT.subtract(self.amount, other.amount), self.format if self.amount else other.format)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash(self.amount)

    def __lt__(self, other: Quantity) -> bool:
        return self.amount < other.amount

    def __le__(self, other: Quantity) -> bool:
        return self.amount <= other.amount

    def round_up(self, places: int) -> Quantity:
        """Return the same quantity with at most ``places`` decimal places, rounded away from zero."""
        if _places(self.amount) <= places:
            return self
        return Quantity(self.amount.quantize(Decimal(1).scaleb(-places), ROUND_UP, _EXACT), self.format)


def _places(amount: Decimal) -> int:
    exponent = amount.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


@lru_cache(maxsize=8192)
def parse(text: str) -> Quantity:
    """Return the quantity that a text stands for.

    >>> parse("2Ki").amount, str(parse("1.5Gi")), parse("1") == parse("1000m")
    (Decimal('2048'), '1536Mi', True)
    >>> parse("1 GB")
    Traceback (most recent call last):
    kontend.kube.quantity.QuantityError: quantities must match the regular expression ...
    """
    parts = _PARTS.fullmatch(text) if text else None
    if parts is None:
        raise QuantityError(f"quantities must match the regular expression '{_PATTERN}'")
    sign, digits, fraction, suffix = parts[1], parts[2] or "0", parts[3] or "", parts[4]
    if suffix in _BINARY:
        return _parse_binary(text, sign, digits, fraction, _BINARY[suffix])
    exponent = _DECIMAL.get(suffix)
    form: Format = "DecimalSI"
    if exponent is None:
        if suffix[0] not in "eE" or not _EXPONENT.fullmatch(suffix[1:]) or abs(whole_number(suffix[1:])) >= 2**63:
            raise QuantityError("unable to parse quantity's suffix")
        # The server keeps an exponent in 32 bits.
        exponent, form = (whole_number(suffix[1:]) + 2**31) % 2**32 - 2**31, "DecimalExponent"
    shifted, scale = digits + fraction, exponent - len(fraction)
    amount = Decimal(f"{sign}{shifted}E{scale}")
    if len(shifted) <= 18 and scale >= -9:
        looks_canonical = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
        return Quantity(amount, form, text if looks_canonical else "")
    return Quantity(_at_least_nano(amount, text), form)


def _parse_binary(text: str, sign: str, digits: str, fraction: str, exponent: int) -> Quantity:
    amount = _EXACT.multiply(Decimal(f"{sign}{digits}.{fraction}"), Decimal(1 << exponent))
    if not fraction and 15 - len(digits) - exponent * 3 // 10 - 1 >= 0:
        return Quantity(amount, "BinarySI", text if int(digits) & 7 else "")
    amount = _at_least_nano(amount, text)
    if amount.copy_abs() > _MOST:
        amount = _MOST.copy_sign(amount)
    return Quantity(amount, "DecimalSI" if 0 < amount.copy_abs() < 1 else "BinarySI")


def _at_least_nano(amount: Decimal, text: str) -> Decimal:
    if not _DIGIT.search(text):
        raise QuantityError("unable to parse numeric part of quantity")
    return amount.quantize(_NANO, ROUND_UP, _EXACT) if _places(amount) > 9 else amount


def _canonical(amount: Decimal, form: Format) -> str:
    if not amount:
        return "0"
    if form == "BinarySI":
        if amount.copy_abs() >= 1024 and amount == amount.to_integral_value():
            number, exponent = int(amount), 0
            while exponent < 60 and number % 1024 == 0:
                number, exponent = number // 1024, exponent + 10
            return f"{number}{_BINARY_SUFFIX[exponent]}"
        form = "DecimalSI"
    sign, digits, exponent_or_name = amount.as_tuple()
    assert isinstance(exponent_or_name, int)
    text = "".join(map(str, digits))
    stripped = text.rstrip("0")
    exponent = exponent_or_name + len(text) - len(stripped)
    stripped += "0" * (exponent % 3)
    exponent -= exponent % 3
    if form == "DecimalSI":
        suffix = _DECIMAL_SUFFIX.get(exponent, "")
    else:
        suffix = f"e{exponent}" if exponent else ""
    return f"{'-' if sign else ''}{stripped}{suffix}"


@lru_cache(maxsize=8192)
def canonical(text: str) -> str:
    """Return the text as the server writes it back.

    >>> [canonical(text) for text in ("0.5", "1000m", "1024Mi", "1.5Gi", "0100", "1e3", " 2 ")]
    ['500m', '1', '1Gi', '1536Mi', '0100', '1e3', '2']
    """
    return str(parse(text.strip()))
