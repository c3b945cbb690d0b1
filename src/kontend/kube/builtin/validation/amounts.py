"""Quantities as plain numbers, to compare and to add up."""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from typing import Any, Final

from kontend.kube.quantity import QuantityError, parse

ZERO: Final = Decimal(0)
#: Quantities have exponents up to 2**31: more than Python's usual context takes.
_WIDE: Final = Context(prec=100, Emax=MAX_EMAX, Emin=MIN_EMIN)


def amount(quantity: Any) -> Decimal:
    """Return the number that a quantity stands for; zero for what is none.

    >>> amount("1500m"), amount("2Ki") == 2048
    (Decimal('1.500'), True)
    """
    try:
        return parse(str(quantity)).amount
    except QuantityError:
        return ZERO


def is_whole(number: Decimal) -> bool:
    """Report whether there is nothing behind the decimal point."""
    return number == number.to_integral_value()


def total(left: Decimal, right: Decimal) -> Decimal:
    """Return a sum, of amounts of any size."""
    return _WIDE.add(left, right)


def quotient(left: Decimal, right: Decimal) -> float:
    """Return a quotient, of amounts of any size."""
    return float(_WIDE.divide(left, right))


def int64_value(number: Decimal) -> int:
    """Return the amount as the server shows it in an error: rounded up, and only the lowest 64 bits of it.

    >>> int64_value(Decimal("-1.5")), int64_value(Decimal("1e999999999"))
    (-1, 0)
    """
    if number.adjusted() > 5000:  # a multiple of 2**64, and too long to write down
        return 0
    return (int(number.to_integral_value(ROUND_CEILING)) + 2**63) % 2**64 - 2**63
