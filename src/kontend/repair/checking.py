"""Changes of a file that something else proposes, explored with the scenarios that reach the changed calls.

The auditor proposes changes from code alone. Where a scenario of the project makes the call that changes, it is
explored with and without the change: the change need not repair anything, but it must break nothing, and the
controllers must still do what they did.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from kontend.explore.explain.lines import project_root
from kontend.explore.golang.build import go_tests
from kontend.explore.problems import BadScenario
from kontend.repair.repairing import worse_than
from kontend.repair.trial import Explored, Order, is_go, tried
from kontend.runtime.user_sources import UserSource

#: Directories that hold code of others.
_FOREIGN: Final = frozenset({"node_modules", "vendor", "site-packages"})


class Effect(StrEnum):
    """The effect of a change."""

    VERIFIED = "verified"
    WORSE = "worse"
    UNDECIDED = "undecided"
    NOT_COVERED = "not covered"


@dataclass(frozen=True, slots=True)
class Checked:
    """The effect of a change, and what shows it."""

    effect: Effect
    text: str


def checked(changed: UserSource, lines: frozenset[int], seconds: float) -> Checked:
    """Explore a changed file with each scenario that makes a call on one of these lines of it."""
    problem = ""
    for target in targets_of(changed):
        before = tried(Order(str(target)), seconds)
        if before.error:
            if str(target) != changed.file:  # a file without scenarios of its own is nothing to report
                problem = problem or f"{target.name} was not explored: {before.error}"
            continue
        wanted = {(changed.file, line) for line in lines}
        covering = [explored for explored in before.explored if explored.reached & wanted]
        if not covering:
            continue
        names = tuple(explored.name for explored in covering)
        after = tried(Order(str(target), changed=(changed,), names=names), seconds)
        if after.error:
            effect = Effect.UNDECIDED if after.timed_out else Effect.WORSE
            return Checked(effect, f"{target.name}: {after.error}")
        return _compared(covering, after.explored)
    return Checked(Effect.NOT_COVERED, problem or "no scenario makes this call")


def _compared(before: Sequence[Explored], after: Sequence[Explored]) -> Checked:
    for one, other in zip(before, after, strict=True):
        if worse := worse_than(one, other):
            return Checked(Effect.WORSE, worse)
    undecided = [explored for explored in after if not explored.exhausted]
    if undecided:
        return Checked(Effect.UNDECIDED, f"{undecided[0].name}: {undecided[0].stopped}")
    repaired = sorted({name for one, other in zip(before, after, strict=True) for name in one.broken - other.broken})
    remaining = sorted({name for explored in after for name in explored.broken})
    many, states = len(after), sum(explored.states for explored in after)
    space = f"in all {states:,} states of {many} scenario{'s'[: many != 1]}"
    parts = [f"{what} {', '.join(names)}" for what, names in (("repairs", repaired), ("leaves", remaining)) if names]
    return Checked(Effect.VERIFIED, f"{'; '.join(parts) or 'breaks nothing'} {space}")


def targets_of(changed: UserSource) -> Iterator[Path]:
    """Yield what may explore a file: the file itself, and files of its project with scenarios that import it.

    For Go it is the package, where a test of it explores something.
    """
    file = Path(changed.file)
    if is_go(changed):
        try:
            if go_tests(file.parent):
                yield file.parent
        except BadScenario:  # no Go, or no module
            return
        return
    yield file
    root = project_root(file)
    for other in sorted(root.rglob("*.py")):
        parts = other.relative_to(root).parts
        if other != file and not any(part in _FOREIGN or part.startswith(".") for part in parts):
            imported = _imports(other)
            if "kontend.explore" in imported and file.stem in {name.rpartition(".")[2] for name in imported}:
                yield other


def _imports(file: Path) -> frozenset[str]:
    """Return the modules that a file imports by name."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8", errors="replace"))
    except (SyntaxError, ValueError, OSError):
        return frozenset()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found.update(f"{node.module or ''}.{alias.name}" for alias in node.names)
    return frozenset(found)
