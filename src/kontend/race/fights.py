"""Fights: clients that set the same field in turns, each to a value of its own.

A handshake looks alike where one client sets a field and another removes it to acknowledge. It is told apart by its
pace: of a field that comes and goes, only quick turns count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kontend.explanation.fix import Fix, Language
from kontend.explanation.remedies import Remedy
from kontend.explore.explain.fields import ABSENT, shown, text_of, value_at
from kontend.explore.properties.overwrites import Path
from kontend.race.finding import FIGHT, RaceFinding
from kontend.race.history import Trail
from kontend.race.moment import Moment
from kontend.race.wording import object_name

#: The number of times that each of two clients has set the field.
_ROUNDS: Final = 3
#: Seconds between turns, for a field that comes and goes.
_QUICK: Final = 10.0
_FIX: Final = Fix(Remedy.ONE_OWNER, spoken=Language.ANY)


def fights_of(trail: Trail, moment: Moment) -> Iterator[RaceFinding]:
    """Yield the fight that a write makes certain, if there is one; ``trail`` ends with the moment before it."""
    if moment.actor.is_user or len(moment.paths) > 50:
        return
    for path in moment.paths:
        if path in trail.fought:
            continue
        turns = _turns(trail, moment, path)
        if len(turns) < 2 * _ROUNDS:
            continue
        trail.fought.add(path)
        other = turns[-2]
        values = (_value(other, path), _value(moment, path))
        yield RaceFinding(
            FIGHT,
            (
                moment.actor,
                " and ",
                other.actor,
                f" set {text_of(path)} of {object_name(moment)} in turns: ",
                moment.actor,
                f" to {shown(values[1])}, ",
                other.actor,
                f" to {shown(values[0])}, {_ROUNDS} times each within {moment.completed - turns[0].received:.1f} s",
            ),
            (moment.actor, other.actor),
            _FIX,
            tuple(turns),
            (other, moment),
            path,
            repeats=True,
        )
        return


def _turns(trail: Trail, moment: Moment, path: Path) -> list[Moment]:
    """Return the last writes of a field, as long as two clients take turns and each sets it to the same value."""
    turns = [moment]
    values = {moment.actor: _value(moment, path)}
    for other in trail.writes():
        if path not in other.paths:
            continue
        later = turns[-1]
        if other.actor.is_user or other.actor == later.actor or other.version is None:
            break
        value = _value(other, path)
        if value == values[later.actor] or values.setdefault(other.actor, value) != value or len(values) > 2:
            break
        comes_and_goes = value is ABSENT or values[later.actor] is ABSENT
        if comes_and_goes and later.received - other.completed > _QUICK:
            break
        turns.append(other)
        if len(turns) == 2 * _ROUNDS:
            break
    return turns[::-1]


def _value(moment: Moment, path: Path) -> Any:
    return value_at(moment.version.content(), path) if moment.version is not None else ABSENT
