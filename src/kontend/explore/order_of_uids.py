"""Finds code that tells uids apart by more than equality: by their order, their digits or a hash.

The server chooses uids at random, and a search explores one choice. That covers all of them as long as code only asks
whether two uids are the same. So before everything is said to hold, each recorded run is made again with other uids, of
which the greater ones are the smaller ones now. Code that does something else then has a case that was not explored.
A controller that chooses by uid on purpose says so.
Rejected: a second search with the other uids. It takes as long as the first, and covers one more of many choices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

from kontend.explore.parts.renaming import Renaming
from kontend.explore.program.foreign import ForeignController
from kontend.explore.program.symbols import is_token
from kontend.explore.program.tree import Program, RecordedRun

#: The uids that the server hands out, and tokens of those that reconciles generate.
_UIDS: Final = re.compile(rb"[0-9a-f]{8}-0000-4000-8000-[0-9a-f]{12}")
_DIGITS: Final = b"0123456789abcdef"
_MIRRORED: Final = bytes.maketrans(_DIGITS, _DIGITS[::-1])
#: The runs of one controller that are made again.
_MOST_RUNS: Final = 2_000


def mirrored(uid: str) -> str:
    """Another uid: of two mirrored ones the greater is that of the smaller.

    >>> mirrored("6bd75091-0000-4000-8000-d7f86bd75091")
    '9428af6e-0000-4000-8000-28079428af6e'
    """
    head, *fixed, tail = uid.encode().split(b"-")
    return b"-".join([head.translate(_MIRRORED), *fixed, tail.translate(_MIRRORED)]).decode()


def told_apart_by(programs: Iterable[Program]) -> list[str]:
    """The names of the controllers that do something else with other uids. Runs user code."""
    return [
        program.controller.name
        for program in dict.fromkeys(programs)
        if not (isinstance(program.controller, ForeignController) or program.controller.chooses_by_uid)
        and any(not _does_the_same(program, run) for _, run in islice(program.longest_runs(), _MOST_RUNS))
    ]


def _does_the_same(program: Program, run: RecordedRun) -> bool:
    """A controller makes the same run with other uids."""
    shown = b"\n".join([run.start.memory, *(response for _, _, response in run.exchanges)])
    uids = {match[0].decode() for match in _UIDS.finditer(shown)}
    if not uids:
        return True
    renaming = Renaming(())
    for uid in sorted(uid for uid in uids if not is_token(uid)):
        renaming.exchange_uids(uid, mirrored(uid))
    return program.does(renaming.run(run))
