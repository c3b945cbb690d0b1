"""The authors of the last writes of each object, which tell sets of states apart.

Two copies of a process have the same local states. Without their writes in mind, a set combines a copy that has just
written an object with another one that is about to write what it has just written, though only one of the two runs had
such a write to make. So there is no end of writes that undo each other, in clusters that no run comes to. Authors are a
function of the run, so sets that also differ in these hold the same states as before, with fewer combinations.

Two writes of each object are enough to know which copy has come late, and one is not: a copy that has written twice in
a row is up to date, and one that has undone another's write is not. Only processes with copies count. The others have
local states of their own, and telling them apart would only make more sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kontend.cluster.state import Change
from kontend.explore.model.model import Model
from kontend.kube.meta.names import Key

#: For each object that exists, the numbers of the processes that wrote it last, the last one at the end.
Authors = tuple[tuple[tuple[str, Key], tuple[int, ...]], ...]
#: Nobody has written anything yet.
NOBODY: Final[Authors] = ()
#: Users, and processes without copies.
_OTHERS: Final = -1
_REMEMBERED: Final = 2


def copied(model: Model) -> frozenset[int]:
    """The numbers of the processes that have copies: others run the same programs."""
    programs = [tuple(id(model.programs[index]) for index in process.indexes) for process in model.layout.processes]
    return frozenset(number for number, own in enumerate(programs) if programs.count(own) > 1)


def written(authors: Authors, changes: Sequence[Change], author: int, copied: frozenset[int]) -> Authors:
    """The authors after some writes of a process, or of a user (-1)."""
    if not copied or not changes:
        return authors
    known = dict(authors)
    for change in changes:
        thing = (change.resource, change.key)
        if change.new is None:
            known.pop(thing, None)
        else:
            latest = author if author in copied else _OTHERS
            known[thing] = (*known.get(thing, ()), latest)[-_REMEMBERED:]
    return tuple(sorted(known.items()))
