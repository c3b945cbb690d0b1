"""What came out of a search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from kontend.cluster.state import State
from kontend.explore.moves import Move
from kontend.runtime.controller import Controller


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that does not hold, with a short story that shows it."""

    property: str
    sentence: str
    #: The story, a line for each move.
    moves: tuple[str, ...]
    #: The same, for replaying it.
    choices: tuple[Move, ...] = ()
    #: How many of the moves disturb: stale reads, reconciles begun while another is under way, users who interrupt.
    perturbations: int = 0
    #: Whether there is no shorter story with as few perturbations, or it was made short, or taken as it was given.
    how: Literal["shortest", "shrunk", "given"] = "shortest"
    #: What follows the story again in a test: ``@reproduce("...")``. Empty for what has no story.
    replay: str = ""

    def __str__(self) -> str:
        story = "\n".join(f"  {number} {text}" for number, text in enumerate(self.moves, 1))
        return f"{self.property}: violated after {len(self.moves)} moves ({self.how})\n  {self.sentence}\n{story}"


@dataclass(slots=True)
class Verdict:
    """What holds, what does not, and how far the search went."""

    violations: list[Violation] = field(default_factory=list)
    #: The different ways in which everything can settle.
    end_states: list[State] = field(default_factory=list)
    worlds: int = 0
    moves: int = 0
    #: Whether the whole space within the bounds was searched, and if not, why the search stopped.
    closed: bool = False
    stopped: str = ""
    #: Worlds that were found and not looked at, or walks that were cut off.
    cut: int = 0
    #: How many walks were made, and how; empty for a search.
    walks: str = ""
    #: How many of the end states an undisturbed run ends in.
    undisturbed_ends: int = 0
    #: Properties that were never put to the test.
    untested: list[str] = field(default_factory=list)
    #: What else there is to know, a sentence each.
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    #: How often user code ran.
    runs: int = 0
    bounds: str = ""

    @property
    def ok(self) -> bool:
        """Whether everything holds in the whole bounded space."""
        return self.closed and not self.violations

    def note_what_is_left_out(self, controllers: Iterable[Controller]) -> None:
        """Say where the controllers could do more than is explored."""
        for each in controllers:
            if each.max_concurrent > 1:
                self.notes.append(
                    f"{each.name}: max_concurrent is {each.max_concurrent}, but each instance is explored with one "
                    "reconcile at a time; Bounds(concurrent=2) lets two instances run at once"
                )

    def __str__(self) -> str:
        lines = [str(violation) for violation in self.violations]
        if self.ok:
            lines.append(f"holds in all {self.worlds:,} worlds ({self.bounds})")
        elif self.walks:
            found = f"found in {self.walks}; there may be more"
            lines.append(found if self.violations else f"nothing found in {self.walks}; that proves nothing")
        elif not self.closed and not self.violations:
            lines.append(f"not decided: the space did not close, because {self.stopped} ({self.bounds})")
        lines += [f"{name}: never put to the test; the scenario may do less than it seems" for name in self.untested]
        lines += self.notes
        what = "walks cut off" if self.walks else "of them cut"
        cut = f" ({self.cut:,} {what})" if self.cut else ""
        many = f"{self.worlds:,} worlds{cut}, {self.moves:,} moves"
        ends = f"{len(self.end_states)} end state{'s' * (len(self.end_states) != 1)}"
        lines.append(f"{many}, {ends}, {self.seconds:.1f} s")
        return "\n".join(lines)
