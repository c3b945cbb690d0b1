"""Equality of objects as the server means it when it looks for changes: an empty list is as good as none."""

from __future__ import annotations

from typing import Any


def same(new: Any, old: Any) -> bool:
    """Compare two values; a list that is null equals one without items, wherever it stands.

    >>> same({"rules": [{"verbs": []}]}, {"rules": [{"verbs": None}]}), same([0], []), same({}, None)
    (True, False, False)
    """
    if new == old:
        return True
    # Exactly these types: JSON that is compared by its text is of another.
    if type(new) is dict and type(old) is dict:
        return new.keys() == old.keys() and all(same(value, old[key]) for key, value in new.items())
    if type(new) is list and type(old) is list:
        return len(new) == len(old) and all(map(same, new, old))
    return (new is None and old == []) or (new == [] and old is None)
