"""The zoo: every bug is found, every fixed twin and every negative control holds in its whole space."""

from __future__ import annotations

from collections import Counter

import pytest

from kontend.zoo.entry import ARCHETYPES, Entry, directory, entries
from kontend.zoo.runs import RunOptions, run_entry

FOLDER = directory()
assert FOLDER is not None
ENTRIES = entries(FOLDER)


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_the_bug_is_found_and_the_twin_holds(entry: Entry) -> None:
    outcome = run_entry(entry, RunOptions(seconds=600))
    assert outcome.found, "\n".join(run.text for run in outcome.buggy)
    assert not outcome.false_alarms, "\n".join(run.text for run in outcome.false_alarms)
    assert not outcome.undecided, "\n".join(run.text for run in outcome.undecided)


def test_the_zoo_covers_every_archetype() -> None:
    counts = Counter(entry.archetype for entry in ENTRIES.values())
    assert sum(counts.values()) - counts["N"] >= 80
    assert counts["N"] >= 3
    assert all(counts[f"A{number}"] >= 3 for number in range(1, 13))


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_an_entry_links_to_the_public_record(entry: Entry) -> None:
    assert entry.link.startswith("https://")
    assert entry.title.endswith(".")
    assert ": " in entry.title
    assert entry.archetype in ARCHETYPES
