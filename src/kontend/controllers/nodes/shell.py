"""A small shell: what a container's command does, as far as that is known without running it.

Containers do not run. Many pods of tests have commands that say how they end, though: ``sh -c "exit 1"``, ``sleep 30``,
or a script that fails until it finds a file of its first run. :func:`run` follows such a command through the part of
the shell language that these use, in virtual time. Rejected: a real shell, which would need a sandbox and real time;
a table of known commands, which the next test would not be in.

Whatever is not understood raises :class:`NotUnderstood`: guessing the end of a command would be worse than to let
the container run on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<skip>[ \t]+|\\\n|\#[^\n]*)|(?P<operator>\n|;;|;|&&|\|\||>>|>|\||&)|"""
    r"""(?P<word>(?:[^\s;&|<>'"$\\`()]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|\$\(\([^()]*\)\)|\$\([^()]*\)|\$\{\w+\}|\$\w+)+)"""
)
_PIECE: Final = re.compile(
    r"""'(?P<plain>[^']*)'|"(?P<quoted>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<bare>(?:[^'"\\$]|\$(?:\(\([^()]*\)\)|\([^()]*\)|\{\w+\}|\w+))+)""",
    re.DOTALL,
)
_EXPANSION: Final = re.compile(
    r"\$\(\((?P<sum>[^()]*)\)\)|\$\((?P<command>[^()]*)\)|\$\{(?P<braced>\w+)\}|\$(?P<name>\w+)"
)
_SUM: Final = re.compile(r"\s*(-?\d+)\s*([-+*/%])\s*(-?\d+)\s*")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
#: Commands that read the output of the one before them.
_FILTERS: Final = frozenset({"awk", "cat", "wc"})
_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})
_LONGEST: Final = 4096
_END: Final = frozenset({"then", "elif", "else", "fi", "do", "done"})
_COMPARE: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "-eq": int.__eq__, "-ne": int.__ne__, "-lt": int.__lt__, "-le": int.__le__, "-gt": int.__gt__, "-ge": int.__ge__,
}  # fmt: skip


class NotUnderstood(Exception):
    """A command whose end is not known."""


class _Ends(Exception):
    def __init__(self, code: int | None) -> None:
        super().__init__()
        #: The exit code, or None for a command that never ends.
        self.code = code


@dataclass(frozen=True, slots=True)
class Life:
    """A run of a command: it ends with ``code`` after ``seconds``, or never, where ``code`` is None."""

    code: int | None
    seconds: float
    output: str = ""


@dataclass(slots=True)
class Files:
    """The files that commands make and remove, and when: by path, the times and the contents from then on."""

    changes: dict[str, list[tuple[float, str | None]]] = field(default_factory=dict)

    def read(self, path: str, at: float) -> str | None:
        """Return the content of a file at a time; None where there is none."""
        return next((text for time, text in reversed(self.changes.get(path, ())) if time <= at), None)

    def write(self, path: str, text: str | None, at: float) -> None:
        """Change a file; None removes it."""
        self.changes.setdefault(path, []).append((at, text))


@dataclass(slots=True)
class Shell:
    """One run of a command, beginning at a time."""

    files: Files
    #: The variables; one that is not among them is empty, as in a shell.
    environment: dict[str, str]
    now: float
    #: The file that a path means, or NotUnderstood where it may be part of the image.
    locate: Callable[[str], str]
    output: list[str] = field(default_factory=list)
    #: The output of the command before, in a pipe.
    input: str | None = None

    def run(self, command: Sequence[str]) -> Life:
        """Run a command to its end."""
        began = self.now
        if sum(map(len, command)) > _LONGEST:
            raise NotUnderstood("a script of this length")
        try:
            code: int | None = self._command(list(command))
        except _Ends as end:
            code = end.code
        except RecursionError:
            raise NotUnderstood("a script of this depth") from None
        return Life(code, self.now - began, "".join(self.output))

    # Lists of commands

    def _script(self, text: str) -> int:
        tokens = list(_tokens(text))
        code, position = self._list(tokens, 0)
        if position != len(tokens):
            raise NotUnderstood(tokens[position])
        return code

    def _list(self, tokens: list[str], at: int, *, dry: bool = False) -> tuple[int, int]:
        """Run commands up to the end or a word that ends a block; returns the last code and that position.

        ``dry`` skips them.
        """
        code = 0
        while at < len(tokens) and tokens[at] not in _END:
            if tokens[at] in ("\n", ";"):
                at += 1
                continue
            code, at = self._chain(tokens, at, dry=dry)
        return code, at

    def _chain(self, tokens: list[str], at: int, *, dry: bool) -> tuple[int, int]:
        """Commands joined by ``&&`` and ``||``."""
        code, at = self._one(tokens, at, dry=dry)
        while at < len(tokens) and tokens[at] in ("&&", "||"):
            skipped = (code == 0) == (tokens[at] == "||")
            at += 1
            while at < len(tokens) and tokens[at] == "\n":
                at += 1
            after, at = self._one(tokens, at, dry=dry or skipped)
            code = code if skipped else after
        return code, at

    def _one(self, tokens: list[str], at: int, *, dry: bool) -> tuple[int, int]:
        word = tokens[at]
        if word == "if":
            return self._if(tokens, at + 1, dry=dry)
        if word in ("while", "until", "for", "case"):
            return self._while(tokens, at, dry=dry)
        words: list[str] = []
        target, appends = "", False
        while at < len(tokens) and tokens[at] not in ("\n", ";", "&&", "||"):
            if tokens[at] in (">", ">>") and at + 1 < len(tokens):
                target, appends, at = tokens[at + 1], tokens[at] == ">>", at + 2
            elif tokens[at] in ("&", ";;"):
                raise NotUnderstood(tokens[at])
            elif tokens[at] == "|" and not target:
                if not dry:
                    self._pipe(words)
                words, at = [], at + 1
            else:
                words.append(tokens[at])
                at += 1
        code = 0 if dry else self._redirected(words, target, appends=appends)
        self.input = None
        return code, at

    @staticmethod
    def _apart(run: Callable[[], int]) -> None:
        """Run commands in a shell of their own, which they may end."""
        try:
            run()
        except _Ends as end:
            if end.code is None:
                raise

    def _pipe(self, words: list[str]) -> None:
        """Run a command whose output is the input of the next."""
        kept, self.output = self.output, []
        try:
            self._apart(lambda: self._command([self._expanded(word) for word in words]))
            self.input = "".join(self.output)
        finally:
            self.output = kept

    def _redirected(self, words: list[str], target: str, *, appends: bool) -> int:
        kept, self.output = self.output, ([] if target else self.output)
        try:
            code = self._command([self._expanded(word) for word in words])
            if target:
                path = self.locate(self._expanded(target))
                before = (self.files.read(path, self.now) or "") if appends else ""
                self.files.write(path, before + "".join(self.output), self.now)
        finally:
            self.output = kept
        return code

    def _if(self, tokens: list[str], at: int, *, dry: bool) -> tuple[int, int]:
        code, done = 0, dry
        while True:
            condition, at = self._list(tokens, at, dry=done)
            at = _past(tokens, at, "then")
            ran, at = self._list(tokens, at, dry=done or condition != 0)
            if not done and condition == 0:
                code, done = ran, True
            if at < len(tokens) and tokens[at] == "elif":
                at += 1
                continue
            if at < len(tokens) and tokens[at] == "else":
                ran, at = self._list(tokens, at + 1, dry=done)
                code = code if done else ran
            return code, _past(tokens, at, "fi")

    def _while(self, tokens: list[str], at: int, *, dry: bool) -> tuple[int, int]:
        """A loop that nothing ends: others are not followed."""
        if tokens[at] != "while" or at + 1 >= len(tokens) or tokens[at + 1] not in ("true", ":"):
            raise NotUnderstood(tokens[at])
        start = _past(tokens, _past(tokens, at + 2, ";", optional=True), "do")
        began = self.now
        _, end = self._list(tokens, start, dry=dry)
        if not dry:
            if self.now == began:
                raise NotUnderstood("a loop that does not wait")
            raise _Ends(None)
        return 0, _past(tokens, end, "done")

    # Commands

    def _command(self, words: list[str]) -> int:
        if not words:
            return 0
        if self.input is not None and words[0] not in _FILTERS:
            raise NotUnderstood(f"| {words[0]}")
        assignment = _ASSIGNMENT.fullmatch(words[0])
        if assignment is not None and len(words) == 1:
            self.environment[assignment[1]] = assignment[2]
            return 0
        name, arguments = words[0].rsplit("/", 1)[-1], words[1:]
        if name in _SHELLS:
            if not arguments or not re.fullmatch(r"-[eux]*c[eux]*", arguments[0]) or len(arguments) < 2:
                raise NotUnderstood(name)
            if "e" in arguments[0]:
                raise NotUnderstood("sh -e")
            return self._script(arguments[1])
        known = _COMMANDS.get(name)
        if known is None:
            raise NotUnderstood(name)
        return known(self, arguments)

    def _exit(self, arguments: list[str]) -> int:
        raise _Ends(_number(arguments[0]) % 256 if arguments else 0)

    def _sleep(self, arguments: list[str]) -> int:
        if arguments == ["infinity"]:
            raise _Ends(None)
        if len(arguments) != 1 or not re.fullmatch(r"\d+(\.\d+)?s?", arguments[0]):
            raise NotUnderstood("sleep")
        self.now += float(arguments[0].removesuffix("s"))
        return 0

    def _echo(self, arguments: list[str]) -> int:
        plain = arguments[1:] if arguments[:1] == ["-n"] else arguments
        self.output.append(" ".join(plain) + ("" if plain is not arguments else "\n"))
        return 0

    def _touch(self, arguments: list[str]) -> int:
        for path in arguments:
            place = self.locate(path)
            if self.files.read(place, self.now) is None:
                self.files.write(place, "", self.now)
        return 0

    def _rm(self, arguments: list[str]) -> int:
        for path in arguments:
            if not path.startswith("-"):
                self.files.write(self.locate(path), None, self.now)
        return 0

    def _wc(self, arguments: list[str]) -> int:
        match arguments:
            case ["-l"] if self.input is not None:
                self.output.append(f"{self.input.count(chr(10))}\n")
            case ["-l", path] if (text := self.files.read(self.locate(path), self.now)) is not None:
                self.output.append(f"{text.count(chr(10))} {path}\n")
            case _:
                raise NotUnderstood("wc")
        return 0

    def _awk(self, arguments: list[str]) -> int:
        program = re.fullmatch(r"\{\s*print \$(\d)\s*\}", arguments[0]) if len(arguments) == 1 else None
        if program is None or self.input is None:
            raise NotUnderstood("awk")
        for line in self.input.splitlines():
            words = [line, *line.split()]
            self.output.append((words[int(program[1])] if int(program[1]) < len(words) else "") + "\n")
        return 0

    def _cat(self, arguments: list[str]) -> int:
        code = 0
        if not arguments:
            self.output.append(self.input or "")
        for path in arguments:
            text = self.files.read(self.locate(path), self.now)
            code = code if text is not None else 1
            self.output.append(text or "")
        return code

    def _test(self, arguments: list[str]) -> int:
        words = arguments[:-1] if arguments and arguments[-1] in ("]", "]]") else arguments
        match words:
            case ["-e" | "-f" | "-r" | "-s", path]:
                return 0 if self.files.read(self.locate(path), self.now) is not None else 1
            case ["-z" | "-n" as kind, text]:
                return 0 if (text == "") == (kind == "-z") else 1
            case [one, "=" | "==", other]:
                return 0 if one == other else 1
            case [one, "!=", other]:
                return 0 if one != other else 1
            case [one, operator, other] if operator in _COMPARE:
                return 0 if _COMPARE[operator](_number(one), _number(other)) else 1
        raise NotUnderstood("test")

    def _expr(self, arguments: list[str]) -> int:
        value = _computed(" ".join(arguments))
        self.output.append(f"{value}\n")
        return 1 if value == 0 else 0

    # Words

    def _expanded(self, word: str) -> str:
        parts, at = [], 0
        while at < len(word):
            piece = _PIECE.match(word, at)
            if piece is None:
                raise NotUnderstood(word)
            at = piece.end()
            if piece["plain"] is not None:
                parts.append(piece["plain"])
            elif piece["escaped"] is not None:
                parts.append(piece["escaped"])
            elif piece["quoted"] is not None:
                parts.append(self._substituted(re.sub(r'\\(["\\])', r"\1", piece["quoted"])))
            else:
                parts.append(self._substituted(piece["bare"]))
        return "".join(parts)

    def _substituted(self, text: str) -> str:
        def value(found: re.Match[str]) -> str:
            if found["sum"] is not None:
                return str(_computed(self._substituted(found["sum"])))
            if found["command"] is not None:
                kept, self.output = self.output, []
                try:
                    self._apart(lambda: self._script(found["command"]))
                    return "".join(self.output).rstrip("\n")
                finally:
                    self.output = kept
            return self.environment.get(found["braced"] or found["name"], "")

        return _EXPANSION.sub(value, text)


_COMMANDS: Final[Mapping[str, Callable[[Shell, list[str]], int]]] = {
    "exit": Shell._exit, "sleep": Shell._sleep, "echo": Shell._echo, "touch": Shell._touch, "rm": Shell._rm,
    "cat": Shell._cat, "test": Shell._test, "[": Shell._test, "[[": Shell._test, "expr": Shell._expr,
    "wc": Shell._wc, "awk": Shell._awk,
    "true": lambda *_: 0, ":": lambda *_: 0, "false": lambda *_: 1,
}  # fmt: skip


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise NotUnderstood(text[at : at + 20])
        at = found.end()
        if found["skip"] is None:
            yield found[0]


def _past(tokens: list[str], at: int, word: str, *, optional: bool = False) -> int:
    """The position after a word, and after line ends before it."""
    while at < len(tokens) and tokens[at] in ("\n", ";") and tokens[at] != word:
        at += 1
    if at < len(tokens) and tokens[at] == word:
        return at + 1
    if optional:
        return at
    raise NotUnderstood(word)


def _number(text: str) -> int:
    if not re.fullmatch(r"-?\d+", text):
        raise NotUnderstood(text)
    return int(text)


def _computed(text: str) -> int:
    found = _SUM.fullmatch(text)
    if found is None:
        return _number(text.strip())
    left, right = int(found[1]), int(found[3])
    match found[2]:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    if right == 0:
        raise NotUnderstood(text)
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)  # towards zero, as in C
    return quotient if found[2] == "/" else left - quotient * right
