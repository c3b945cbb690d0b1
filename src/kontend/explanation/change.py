"""A change of code: one remedy at one place."""

from __future__ import annotations

from dataclasses import dataclass

from kontend.explanation.edits import Edit
from kontend.explanation.remedies import Remedy


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a file."""

    remedy: Remedy
    #: The first line that it changes.
    line: int
    edits: tuple[Edit, ...]

    @property
    def size(self) -> int:
        """The number of characters that it adds or takes away."""
        return sum(len(edit.text) + edit.end - edit.start for edit in self.edits)
