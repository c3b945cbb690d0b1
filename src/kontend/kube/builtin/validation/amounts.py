"""Quantities as plain numbers, to compare and to add up."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from kontend.kube.quantity import QuantityError, parse

ZERO: Final = Decimal(0)


def amount(quantity: Any) -> Decimal:
    """The number that a quantity stands for; zero for what is none.

    >>> amount("1500m"), amount("2Ki") == 2048
    (Decimal('1.500'), True)
    """
    try:
        return parse(str(quantity)).amount
    except QuantityError:
        return ZERO


def is_whole(number: Decimal) -> bool:
    """Reports whether there is nothing behind the decimal point."""
    return number == number.to_integral_value()
