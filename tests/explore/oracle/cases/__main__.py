"""Prints for each case whether the explorer and the oracle agree."""

from __future__ import annotations

import sys

from explore.oracle.cases import CASES
from explore.oracle.comparison import WAYS, differences, expected, explored


def main() -> int:
    """Print for each case, and each way to explore it, whether the explorer and the oracle agree."""
    chosen = sys.argv[1:] or list(CASES)
    wrong = 0
    for name in chosen:
        answer = expected(CASES[name]())
        found = answer.findings
        said = f"{found.states} states, {len(found.ends)} final, {sorted(found.violations) or 'holds'}"
        print(f"{name}: {said}{' (endless)' if answer.endless else ''}")  # noqa: T201
        for way in WAYS:
            try:
                points = differences(answer, explored(CASES[name](), way, states=30_000))
            except Exception as error:
                points = [f"{type(error).__name__}: {error}"]
            wrong += bool(points)
            print(f"  {way}: {'agree' if not points else '; '.join(points)[:400]}")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
