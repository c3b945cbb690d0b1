"""Numbers out of text of any length.

Python refuses to convert more than 4,300 digits and takes quadratic time for fewer; digits of other scripts count as
digits. :func:`whole_number` takes the ASCII digits that a caller has checked and stops counting beyond 64 bits, where
every caller has its own answer.
"""

from __future__ import annotations

from typing import Final

#: Greater than any 64-bit integer.
BEYOND: Final = 2**70
_LONGEST: Final = 21


def whole_number(text: str) -> int:
    """Return the value of decimal digits with an optional sign; beyond 64 bits only the sign counts.

    >>> whole_number("-007"), whole_number("9" * 10_000) == BEYOND, whole_number("-" + "9" * 10_000) == -BEYOND
    (-7, True, True)
    """
    sign, digits = (-1 if text[:1] == "-" else 1), text.lstrip("+-").lstrip("0")
    return sign * (int(digits or "0") if len(digits) <= _LONGEST else BEYOND)
