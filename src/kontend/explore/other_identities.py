"""Finds code that tells uids or generated names apart by more than equality: by their order, their digits or a hash.

The server chooses them at random, and a search explores one choice. That covers all of them as long as code only asks
whether two are the same. So before everything is said to hold, recorded runs are made again with others: in one the
greater ones are the smaller ones, in some more they have nothing to do with the first. Code that does something else
then has a case that was not explored, and the search is repeated with other choices (``Bounds.identities``). A
controller that chooses by uid on purpose says so.

Stored resourceVersions get other numbers in the same order, because their order means something and nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import orjson
import xxhash

from kontend.explore.made_otherwise import Derived, Otherwise
from kontend.explore.program.foreign import ForeignController
from kontend.explore.program.tree import Program, RecordedRun

_DIGITS: Final = b"0123456789abcdef"
_MIRRORED: Final = bytes.maketrans(_DIGITS, _DIGITS[::-1])
_LETTERS: Final = "2456789bcdfghjklmnpqrstvwxz"
_MIRRORED_LETTERS: Final = str.maketrans(_LETTERS, _LETTERS[::-1])
#: The runs of one controller that are made again with mirrored uids.
_MOST_RUNS: Final = 2_000
#: The fewest further choices, which find digits and hashes, and the runs that are made with each.
_FURTHER: Final = 8
_FURTHER_RUNS: Final = 4
#: Where there are few runs, there are more choices, until this many runs were made.
_FEWEST_RUNS: Final = 40
_MOST_CHOICES: Final = 40
#: The number of runs that make words from uids and are made again, too.
_MAKING_RUNS: Final = 50
#: The choices of identities that are searched where code tells them apart.
CHOICES: Final = 4


class ToldApart(NamedTuple):
    """The names of the controllers that do something else with other identities."""

    #: With other uids, uuids or resourceVersions.
    uids: list[str]
    #: With other generated names.
    names: list[str]

    def __bool__(self) -> bool:
        return bool(self.uids or self.names)


#: Nothing is told apart.
NOT: Final = ToldApart([], [])


def mirrored(uid: str) -> str:
    """Another uid: of two mirrored ones the greater is that of the smaller.

    >>> mirrored("6bd75091-0000-4000-8000-d7f86bd75091")
    '9428af6e-0000-4000-8000-28079428af6e'
    """
    head, *fixed, tail = uid.encode().split(b"-")
    return b"-".join([head.translate(_MIRRORED), *fixed, tail.translate(_MIRRORED)]).decode()


def told_apart_by(programs: Iterable[Program]) -> ToldApart:
    """The controllers that do something else with other identities. Runs user code."""
    asked = [program for program in dict.fromkeys(programs) if _is_asked(program)]
    found = ToldApart([], [])
    if not asked:
        return found
    derived = Derived()
    made = [(program, list(_runs(program))) for program in asked]
    reversing = Otherwise(mirrored, derived=derived)
    different = _different(made, reversing)
    count = 0
    for number in range(_MOST_CHOICES):
        if number >= _FURTHER and count >= _FEWEST_RUNS:
            break
        some = [(one, [*_spread(runs, number), *reversing.making(one)[:_MAKING_RUNS]]) for one, runs in made]
        different |= _different(some, Otherwise(_Chosen(number), derived=derived.again()))
        count += sum(len(runs) for _, runs in some)
    # A text that is made from a uid is another one for each; what has a few values only is a decision.
    if not derived.are_made_from_uids():
        different |= {program.number for program in asked}
    named = _told_apart_by_names(made, derived)
    for program in asked:
        if program.number in different:
            found.uids.append(program.controller.name)
        elif program.number in named:
            found.names.append(program.controller.name)
    return found


def _told_apart_by_names(made: Sequence[tuple[Program, Sequence[RecordedRun]]], derived: Derived) -> set[int]:
    """The numbers of the programs that do something else with other generated names."""
    generated = _generated_names(run for _, runs in made for run in runs)
    if not generated:
        return set()
    opposite = {name: prefix + suffix.translate(_MIRRORED_LETTERS) for name, (prefix, suffix) in generated.items()}
    different = _different(made, Otherwise(mirrored, opposite, derived=derived.again()))
    # The opposite order of two names says nothing of their hashes: half of these have the same parity by chance.
    for number in range(_FURTHER):
        others = {name: prefix + _suffix(number, suffix) for name, (prefix, suffix) in generated.items()}
        some = [(one, _spread(runs, number)) for one, runs in made if one.number not in different]
        different |= _different(some, Otherwise(mirrored, others, derived=derived.again()))
    return different


def _suffix(number: int, suffix: str) -> str:
    """Another suffix of a generated name, which has nothing to do with the first."""
    value = xxhash.xxh3_64_intdigest(f"{number} {suffix}".encode())
    letters = []
    for _ in suffix:
        value, at = divmod(value, len(_LETTERS))
        letters.append(_LETTERS[at])
    return "".join(letters)


def _different(made: Sequence[tuple[Program, Sequence[RecordedRun]]], otherwise: Otherwise) -> set[int]:
    """The numbers of the programs that do something else."""
    while True:
        before = otherwise.learned
        # All runs are made, also after one that differs: they may show which words are made from uids.
        found = {program.number for program, runs in made if sum(not otherwise.makes(program, run) for run in runs)}
        # A text that one run makes from a uid is read by another one.
        if not found or otherwise.learned == before:
            return found


def _is_asked(program: Program) -> bool:
    return not (isinstance(program.controller, ForeignController) or program.controller.chooses_by_uid)


def _runs(program: Program) -> Iterator[RecordedRun]:
    return (run for _, run in islice(program.longest_runs(), _MOST_RUNS))


def _spread(runs: Sequence[RecordedRun], number: int) -> Sequence[RecordedRun]:
    """Some runs, others for each number."""
    every = max(len(runs) // _FURTHER_RUNS, 1)
    return runs[number % every :: every][:_FURTHER_RUNS]


class _Chosen:
    """Another uid, which has nothing to do with the first."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __call__(self, uid: str) -> str:
        digest = xxhash.xxh3_128_hexdigest(f"{self._number} {uid}".encode())
        head, *fixed, _ = uid.split("-")
        return "-".join([digest[: len(head)], *fixed, digest[8:20]])


def _generated_names(runs: Iterable[RecordedRun]) -> Mapping[str, tuple[str, str]]:
    """The names that the server has generated, each with its prefix and its suffix."""
    found: dict[str, tuple[str, str]] = {}
    for response in (response for run in runs for _, _, response in run.exchanges):
        if b'"generateName"' in response and response[:1] == b"=":
            document = orjson.loads(response[1:])
            for obj in document.get("items", [document]):
                metadata = obj.get("metadata") or {}
                prefix, name = metadata.get("generateName"), metadata.get("name") or ""
                if prefix and name.startswith(prefix):
                    found[name] = prefix, name.removeprefix(prefix)
    return found
