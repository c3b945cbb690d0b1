"""The mistakes in an expression, shown as the server shows them: line, column and a pointer below the text."""

from __future__ import annotations

from typing import Final

_MOST: Final = 100
_LONGEST_LINE: Final = 16384


class CompileError(ValueError):
    """An expression that does not compile; the text holds all the mistakes that were found."""


class ProgramError(ValueError):
    """An expression that type-checks but cannot be made into a program: a constant in it is wrong."""


class Issues:
    """Mistakes found in one expression, each at an offset."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[tuple[int, int, str]] = []

    def add(self, at: int, message: str) -> None:
        """Note a mistake."""
        if len(self.found) > _MOST:
            return
        before = self.source[:at]
        line = before.count("\n") + 1
        self.found.append((line, at - (before.rfind("\n") + 1), message))

    def add_limit(self, message: str) -> None:
        """Note that the expression as a whole exceeds a limit."""
        self.found.append((-1, -1, message))

    def raise_any(self) -> None:
        """Raise what was found, if anything."""
        if self.found:
            raise CompileError(self.text())

    def text(self) -> str:
        """All mistakes, in the order of their places."""
        ordered = sorted(self.found[:_MOST], key=lambda issue: (issue[0], issue[1]))
        shown = [self._show(*issue) for issue in ordered]
        if len(self.found) > _MOST:
            shown.append(f"{len(self.found) - _MOST} more errors were truncated")
        return "\n".join(shown)

    def _show(self, line: int, column: int, message: str) -> str:
        # An empty expression has no place: the server shows column zero and no text.
        if line < 0:
            return f"ERROR: <input>:-1:0: {message}"
        if not self.source:
            return f"ERROR: <input>:1:0: {message}"
        text = f"ERROR: <input>:{line}:{column + 1}: {message}"
        snippet = self.source.split("\n")[line - 1]
        if len(snippet.encode()) > _LONGEST_LINE:
            return text
        snippet = snippet.replace("\t", " ")
        dots = "".join("." if char.isascii() else "\uff0e" for char in snippet[:column])
        wide = column < len(snippet) and not snippet[column].isascii()
        return f"{text}\n | {snippet}\n | {dots}{chr(0xFF3E) if wide else '^'}"
