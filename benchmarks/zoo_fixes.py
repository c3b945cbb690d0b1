"""The bugs of the zoo for which ``kontend fix`` finds a verified fix, as the table of docs/fix.md.

python benchmarks/zoo_fixes.py --seconds 60
"""

from __future__ import annotations

import argparse
import sys
import time

from kontend.explore.problems import BadScenario
from kontend.explore.sources.inputs import Inputs
from kontend.repair.repairing import Options, Repair, repaired
from kontend.zoo.entry import Entry, directory, entries, role

_LONGEST = 90


def row(entry: Entry, seconds: int) -> tuple[bool, str]:
    """Return True if every bug of an entry has a verified fix, and the row of the table."""
    start = time.perf_counter()
    try:
        repairs = [
            repair
            for repair in repaired(entry.path, Inputs(), Options(seconds=seconds, fixes=1)).repairs
            if role(repair.scenario) == "buggy"
        ]
    except BadScenario as error:
        return False, f"| `{entry.name}` | {entry.archetype} | — | {cut(str(error))} | |"
    took = time.perf_counter() - start
    is_fixed = bool(repairs) and all(repair.verified for repair in repairs)
    fixes = "; ".join(dict.fromkeys(fix_of(repair) for repair in repairs)) or "nothing is violated"
    states = ", ".join(f"{repair.verified[0].states:,}" for repair in repairs if repair.verified)
    sys.stderr.write(f"{entry.name}: {'fixed' if is_fixed else 'no'} in {took:.1f} s\n")
    return is_fixed, f"| `{entry.name}` | {entry.archetype} | {fixes} | {states} | {cut(entry.fix)} |"


def fix_of(repair: Repair) -> str:
    """The remedies of a fix, with the line; or why there is none."""
    if repair.verified:
        candidate = repair.verified[0].candidate
        return f"{', '.join(remedy.value for remedy in candidate.remedies)} (line {candidate.line})"
    tried = f"{len(repair.rejected)} candidates"
    why = f"{repair.stopped}; {repair.untried} not tried" if repair.untried else repair.stopped
    return f"none: {tried} tried{f', {why}' if why else ''}"


def cut(text: str) -> str:
    """A text in one cell."""
    one = " ".join(text.replace("|", "/").split())
    return one if len(one) <= _LONGEST else f"{one[: _LONGEST - 1]}…"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="entries (default: all)")
    parser.add_argument("--seconds", type=int, default=60, help="limit for each violation")
    options = parser.parse_args()
    folder = directory()
    assert folder is not None
    chosen = [entry for entry in entries(folder).values() if not entry.is_control]
    chosen = [entry for entry in chosen if not options.names or entry.name in options.names]
    fixed = 0
    print("| bug | archetype | fix | verified in states | public fix |\n|---|---|---|---|---|")
    for entry in chosen:
        is_fixed, text = row(entry, options.seconds)
        fixed += is_fixed
        print(text, flush=True)
    print(f"\n{fixed} of {len(chosen)} fixed, at most {options.seconds} s for each violation")
    return 0


if __name__ == "__main__":
    sys.exit(main())
