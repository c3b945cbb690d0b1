"""Learning what differs between unperturbed runs anyway: made-up names and made-up values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kontend.cluster.state import State
from kontend.explore.properties.overwrites import Path, changed
from kontend.live.properties.final_state import apart, value_at
from kontend.live.properties.masking import EACH, Mask, Objects, comparable

#: Numbers below are decisions (replicas, indices), not times or ports. Strings below this length are words.
_SMALL: Final = 1000
_TOKEN: Final = 5
#: The letters of names that a server generates: no vowels, so that no words come out.
_DRAWN: Final = frozenset("bcdfghjklmnpqrstvwxz2456789")


def learn(initial: State, finals: Sequence[State]) -> Mask:
    """Learn from the final states of unperturbed runs what differs anyway: made-up names and made-up values."""
    prefixes = _prefixes([comparable(initial, final) for final in finals])
    first, *others = [comparable(initial, final, Mask(prefixes)) for final in finals]
    fields: set[tuple[str, tuple[str, ...]]] = set()
    latest = min(final.resource_version for final in finals)
    for other in others:
        for key in set(first) & set(other):
            mine, theirs = apart(first[key], other[key])
            for left, right in zip(mine, theirs, strict=False):
                for path in changed(left, right):
                    values = value_at(left, path), value_at(right, path)
                    if _made_up(*values) or all(_is_version(value, initial, latest) for value in values):
                        fields.add((key[0], _plain(path)))
    return Mask(prefixes, frozenset(fields))


def _made_up(one: Any, other: Any) -> bool:
    """Return whether two values look as if they were drawn, counted or measured rather than decided.

    >>> _made_up("x7f3kq", "b42mzz"), _made_up(1718, 1722), _made_up("Ready", "Pending"), _made_up(None, "x")
    (True, True, False, False)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    if isinstance(one, int | float) and isinstance(other, int | float):
        return min(one, other) >= _SMALL
    if not isinstance(one, str) or not isinstance(other, str):
        return False
    return len(one) == len(other) >= _TOKEN and any(letter.isdigit() for letter in one + other)


def _is_version(value: Any, initial: State, latest: int) -> bool:
    """Return whether a text may be the resourceVersion of something that a run has written.

    Controllers copy them into labels and annotations, to see when a child is older than its owner.
    """
    return isinstance(value, str) and value.isdecimal() and initial.resource_version < int(value) <= latest


def _plain(path: Path) -> tuple[str, ...]:
    """Return the way to a field, in any element of the lists on it."""
    return tuple(step if isinstance(step, str) else EACH for step in path)


def _prefixes(states: list[Objects]) -> frozenset[tuple[str, str]]:
    """Return the beginnings of names that a process makes up: equally many in each run, none of them the same.

    Names that end in something that is decided are left alone: of two runs, one may have lost ``db-0`` and the other
    ``db-2``, and a mask for ``db-*`` would hide that, with the difference between any two objects called so.
    """
    names = [{key for key in state if not key[1].endswith("*")} for state in states]
    common = set.intersection(*names) if names else set()
    own = [sorted(own_names - common) for own_names in names]
    generated = set()
    if own and own[0] and all(len(own_names) == len(own[0]) for own_names in own):
        for together in zip(*own, strict=True):
            resources = {resource for resource, _ in together}
            own_part = [name.rpartition("/")[2] for _, name in together]
            prefix = _common_prefix(own_part)
            if len(resources) == 1 and prefix and _are_drawn([name[len(prefix) :] for name in own_part]):
                generated.add((together[0][0], prefix))
    return frozenset(generated)


def _are_drawn(ends: Sequence[str]) -> bool:
    """Return whether the ends of some names look drawn: equally long, and with digits or only of Kubernetes' letters.

    >>> [_are_drawn(ends) for ends in (["x7f3k", "b42mz"], ["kxwvz", "qnrtb"], ["0", "2"], ["east", "west"])]
    [True, True, False, False]
    """
    if len({len(end) for end in ends}) != 1 or len(ends[0]) < _TOKEN:
        return False
    return any(letter.isdigit() for letter in "".join(ends)) or set("".join(ends)) <= _DRAWN


def _common_prefix(texts: list[str]) -> str:
    shortest = min(texts, key=len)
    for index, letter in enumerate(shortest):
        if any(text[index] != letter for text in texts):
            prefix = shortest[:index]
            cut = max(prefix.rfind("-"), prefix.rfind("."))
            return prefix[: cut + 1] if cut > 0 else prefix
    return shortest
