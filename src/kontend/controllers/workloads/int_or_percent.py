"""Numbers that may be given as a share of another, such as ``maxSurge: 25%``."""

from __future__ import annotations


def scaled(value: int | str | None, total: int, *, up: bool) -> int:
    """Return a number, or a share of ``total`` rounded up or down.

    >>> scaled(3, 10, up=True), scaled("25%", 10, up=True), scaled("25%", 10, up=False)
    (3, 3, 2)
    """
    if isinstance(value, str) and value.endswith("%"):
        share = int(value[:-1]) * total
        return -(-share // 100) if up else share // 100
    return int(value or 0)
