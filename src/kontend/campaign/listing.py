"""Turns entries into units: lists the scenarios of all targets, and combines them with everything that is to be tried.

Listing imports the user's files, so it happens in other processes, as everything else. A file that cannot be imported,
or that ends the process which imports it, becomes a unit that is refused; the others run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import xxhash

from kontend.campaign.entry import Entry, ExploreEntry, LiveEntry, Matrix, walks_of
from kontend.campaign.unit import Exploration, Listed, ListedScenario, Listing, LiveCommand, Status, Unit, Unusable
from kontend.campaign.work import WORK
from kontend.executors.work import Ended, Executor, Watch
from kontend.explore.problems import BadScenario, not_among


def list_units(
    entries: Sequence[Entry], executor: Executor, watch: Watch, *, recheck: bool = True, with_sources: bool = False
) -> list[Unit]:
    """Return the units of a campaign, each once, with titles that differ. Raises :class:`BadScenario` where there is
    none.

    ``recheck`` has one unit of each scenario compare its runs of code with those in other processes. ``with_sources``
    adds the user's code to units, which then run on any machine.
    """
    listings = [
        Listing(target, entry.crds, entry.objects, entry.actions, with_sources=with_sources)
        for entry in entries
        if isinstance(entry, ExploreEntry)
        for target in entry.targets
    ]
    listed = iter(_list(listings, executor, watch))
    units: dict[str, Unit] = {}
    for entry in entries:
        for unit in [_live(entry)] if isinstance(entry, LiveEntry) else _of_entry(entry, listed):
            units.setdefault(unit.key, unit)
    if not units:
        raise BadScenario("there is nothing to run: no target defines a Scenario or a Controller")
    titled = _titled(list(units.values()))
    return _rechecked(titled) if recheck else titled


def _list(listings: list[Listing], executor: Executor, watch: Watch) -> list[tuple[list[Unusable], Listed | None]]:
    """Return the scenarios of targets, and the files that cannot be used."""
    unusable: list[list[Unusable]] = [[] for _ in listings]
    results: list[Listed | None] = [None] * len(listings)
    todo = list(range(len(listings)))
    while todo:
        again = []
        for position, answer in executor.run(WORK, [listings[at] for at in todo], watch):
            at = todo[position]
            listing = listings[at]
            if isinstance(answer, Listed):
                results[at] = answer
                unusable[at] += [Unusable(file, "refused", why) for file, why in answer.broken]
                continue
            assert isinstance(answer, Ended)
            file = str(answer.last) if isinstance(answer.last, str) else listing.target
            status: Status = "refused" if answer.is_refusal else "crashed"
            unusable[at].append(Unusable(file, status, " ".join(answer.message.split())))
            if not answer.is_refusal and Path(listing.target).is_dir() and file not in listing.leave_out:
                # One file has ended the process that lists a directory: list the others.
                listings[at] = replace(listing, leave_out=(*listing.leave_out, file))
                again.append(at)
        todo = sorted(again)
    return list(zip(unusable, results, strict=True))


def _of_entry(entry: ExploreEntry, listed: Iterator[tuple[list[Unusable], Listed | None]]) -> Iterator[Unit]:
    known: list[str] = []
    chosen = 0
    for _ in entry.targets:
        unusable, result = next(listed)
        yield from unusable
        if result is None:
            continue
        for scenario in result.scenarios:
            title = f"{scenario.file}:{scenario.name}"
            known.append(scenario.name)
            if entry.scenarios and not {scenario.name, title} & set(entry.scenarios):
                continue
            chosen += 1
            for unit in _combined(scenario, title, result.inputs, entry.matrix):
                yield replace(unit, sources=result.sources)
    if entry.scenarios and not chosen and known:
        missing = next(name for name in entry.scenarios)
        raise BadScenario(f"scenario: {not_among('scenario', missing, dict.fromkeys(known))}")


def _combined(scenario: ListedScenario, title: str, inputs: Mapping[str, Any], matrix: Matrix) -> Iterator[Exploration]:
    base = Exploration(
        title,
        scenario.file,
        scenario.name,
        inputs,
        walks=matrix.walks,
        deepen=matrix.deepen,
        code=scenario.code,
    )
    plans: Mapping[str, Any] = matrix.plans or ({"": scenario.plan} if scenario.plan is not None else {})
    for bounds in matrix.bounds:
        said = "".join(f" {name}={value}" for name, value in bounds.items())
        for name, plan in plans.items():
            planned = f" plan {name}" if name else ""
            yield replace(base, title=f"{title}{said}{planned}", bounds=bounds, plan=plan)
        for search in () if plans else matrix.searches:
            bounded = replace(base, title=f"{title}{said}", bounds=bounds, search=search)
            if not walks_of(search):
                how = "" if search == "breadth" else f" {search}"
                yield replace(bounded, title=f"{bounded.title}{how}")
                continue
            for seed in matrix.seeds:
                yield replace(bounded, title=f"{bounded.title} {search} seed={seed}", seed=seed, deepen=0)


def _live(entry: LiveEntry) -> LiveCommand:
    digest = xxhash.xxh3_128()
    values = [text.partition("=")[2] if text.startswith("-") else text for text in (*entry.options, *entry.command)]
    for value in values:
        for file in _files(Path(value)) if value else ():
            content = file.read_bytes()
            digest.update(f"{file} {len(content)}\n".encode() + content)
    words = " ".join((*entry.command, *entry.options))
    return LiveCommand(f"live {words}", entry.command, entry.options, digest.hexdigest())


def _files(path: Path) -> list[Path]:
    """Return a file, or the files in a directory."""
    try:
        if path.is_dir():
            return sorted(file for file in path.iterdir() if file.is_file() and os.access(file, os.R_OK))
        return [path] if path.is_file() and os.access(path, os.R_OK) else []
    except (OSError, ValueError):
        return []


def _titled(units: list[Unit]) -> list[Unit]:
    """Units with titles that differ: some differ only in the objects or the plans that they begin with."""
    count: dict[str, int] = {}
    titled: list[Unit] = []
    for unit in units:
        count[unit.title] = count.get(unit.title, 0) + 1
        number = count[unit.title]
        titled.append(unit if number == 1 else replace(unit, title=f"{unit.title} ({number})"))
    return titled


def _rechecked(units: list[Unit]) -> list[Unit]:
    """Units of which the first exhaustive one of each scenario compares its runs with those in other processes."""
    checked: set[tuple[str, str]] = set()
    result: list[Unit] = []
    for unit in units:
        if isinstance(unit, Exploration) and unit.plan is None and (unit.file, unit.scenario) not in checked:
            checked.add((unit.file, unit.scenario))
            unit = replace(unit, recheck=True)
        result.append(unit)
    return result
