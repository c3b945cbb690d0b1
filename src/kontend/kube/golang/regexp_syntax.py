"""Reads regular expressions as Go's ``regexp/syntax`` does, and rewrites them for RE2.

The two libraries share a syntax but not their error texts, their limits and the names of Unicode classes.
:func:`rewrite` checks a pattern by Go's rules, raises Go's errors, and returns the RE2 pattern of the same
meaning: groups do not capture, and classes that RE2 cannot name are spelled out. A pattern that Go accepts but that
would be costly to compile is refused as too large: Go allows programs of 3.3 million instructions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kontend.kube.golang.unicode_class import class_members

#: Limits of our own: the length of a pattern, its Unicode classes, its repetition operators once counts are expanded.
MAX_LENGTH: Final = 64 * 1024
MAX_CLASSES: Final = 1000
MAX_REPETITIONS: Final = 10_000
#: Go's limits: a count and the product of nested counts, the height of the parse tree, the size of the program.
_MAX_COUNT: Final = 1000
_MAX_HEIGHT: Final = 1000
_MAX_SIZE: Final = (128 << 20) // 40

_PLAIN_RUN: Final = re.compile(r"[^\\\[(){}*+?|^$.]+")
_REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+\Z")
_NAMED_CLASS: Final = re.compile(
    r"\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]\Z"
)
_CONTROL: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class RegexpError(ValueError):
    """A pattern that Go does not compile; the text is Go's."""

    def __init__(self, code: str, expression: str) -> None:
        super().__init__(f"error parsing regexp: {code}: `{expression}`")


class _Node(NamedTuple):
    """The measures of a parsed expression: what the limits are about."""

    height: int
    size: int
    #: The greatest product of nested counts.
    counts: int
    #: Repetition operators, with counts expanded.
    repetitions: int


@dataclass(slots=True)
class _Group:
    """An open group: the alternatives before the current one, and the expressions of the current one."""

    captures: bool
    alternatives: list[_Node] = field(default_factory=list)
    nodes: list[_Node] = field(default_factory=list)

    def end_alternative(self) -> None:
        self.alternatives.append(_joined(self.nodes, 0))
        self.nodes = []

    def close(self) -> _Node:
        self.end_alternative()
        node = _joined(self.alternatives, len(self.alternatives) - 1)
        return _Node(node.height + 1, node.size + 2, node.counts, node.repetitions) if self.captures else node


_ATOM: Final = _Node(1, 1, 1, 0)


def _joined(nodes: list[_Node], extra: int) -> _Node:
    if not nodes:
        return _ATOM
    if len(nodes) == 1:
        return nodes[0]
    if extra and all(node is _ATOM for node in nodes):
        return _ATOM  # Go merges alternatives of one character each into a class
    return _Node(
        1 + max(node.height for node in nodes),
        extra + sum(node.size for node in nodes),
        max(node.counts for node in nodes),
        sum(node.repetitions for node in nodes),
    )


def rewrite(pattern: str) -> str:
    """Check a Go pattern and return the RE2 pattern with the same meaning.

    >>> rewrite("(?P<n>a)[[:alpha:]]{2}")
    '(?:a)[[:alpha:]]{2}'
    >>> rewrite("a**")
    Traceback (most recent call last):
    kontend.kube.golang.regexp_syntax.RegexpError: error parsing regexp: invalid nested repetition operator: `**`
    """
    if len(pattern) > MAX_LENGTH:
        raise RegexpError("expression too large", pattern)
    return _Parser(pattern).parse()


class _Parser:
    """Reads a pattern once, from left to right, and writes the rewritten one."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str] = []
        self.groups = [_Group(captures=False)]
        self.classes = 0

    def parse(self) -> str:
        pattern, end = self.pattern, len(self.pattern)
        last_repeat = -1  # where the previous operator begins, if it was a repetition
        while self.at < end:
            repeat = -1
            char = pattern[self.at]
            run = _PLAIN_RUN.match(pattern, self.at)
            if run is not None:
                count = run.end() - self.at
                if count > 1:
                    self._push(_Node(1, count - 1, 1, 0))
                self._push(_ATOM)
                self._copy_to(run.end())
            elif char == "(":
                self._open()
            elif char == "|":
                self.groups[-1].end_alternative()
                self._copy_to(self.at + 1)
            elif char == ")":
                if len(self.groups) == 1:
                    raise RegexpError("unexpected )", pattern)
                self._push(self.groups.pop().close())
                self._copy_to(self.at + 1)
            elif char == "[":
                self._char_class()
            elif char in "*+?":
                repeat = self.at
                self._repeat(self.at + 1, last_repeat, 0, -1)
            elif char == "{" and (counts := _REPEAT.match(pattern, self.at)) is not None:
                repeat = self.at
                self._repeat(counts.end(), last_repeat, *self._counts(counts))
            elif char == "\\":
                self._escape()
            else:
                self._push(_ATOM)
                self._write("\\" + char if char in "{}" else char, self.at + 1)
            last_repeat = repeat
        if len(self.groups) > 1:
            raise RegexpError("missing closing )", pattern)
        self._check(self.groups[0].close())
        return "".join(self.out)

    def _copy_to(self, end: int) -> None:
        self._write(self.pattern[self.at : end], end)

    def _write(self, text: str, end: int) -> None:
        self.out.append(text)
        self.at = end

    def _push(self, node: _Node) -> None:
        self._check(node)
        self.groups[-1].nodes.append(node)

    def _check(self, node: _Node) -> None:
        if node.size > _MAX_SIZE or node.repetitions > MAX_REPETITIONS:
            raise RegexpError("expression too large", self.pattern)
        if node.height > _MAX_HEIGHT:
            raise RegexpError("expression nests too deeply", self.pattern)

    # Groups and repetitions

    def _open(self) -> None:
        pattern, start = self.pattern, self.at
        if not pattern.startswith("(?", start):
            self.groups.append(_Group(captures=True))
            self._write("(?:", start + 1)
            return
        left = len(pattern) - start
        named = 4 if left > 4 and pattern.startswith("P<", start + 2) else 0
        named = 3 if left > 3 and pattern[start + 2] == "<" else named
        if named:
            end = pattern.find(">", start)
            if end < 0:
                raise RegexpError("invalid named capture", pattern[start:])
            if not _NAME.match(pattern[start + named : end]):
                raise RegexpError("invalid named capture", pattern[start : end + 1])
            self.groups.append(_Group(captures=True))
            self._write("(?:", end + 1)
            return
        self._flags(start)

    def _flags(self, start: int) -> None:
        """Read ``(?flags)`` or ``(?flags:``."""
        pattern, at = self.pattern, start + 2
        negative = saw_flag = False
        while at < len(pattern):
            char = pattern[at]
            at += 1
            if char in "imsU":
                saw_flag = True
            elif char == "-" and not negative:
                negative, saw_flag = True, False
            elif char in ":)" and (saw_flag or not negative):
                if char == ":":
                    self.groups.append(_Group(captures=False))
                # Go takes (?) for a change of no flags; RE2 does not.
                self._write("" if at == start + 3 and char == ")" else pattern[start:at], at)
                return
            else:
                break
        raise RegexpError("invalid or unsupported Perl syntax", pattern[start:at])

    def _counts(self, counts: re.Match[str]) -> tuple[int, int]:
        low, high = (int(text) if len(text or "") < 9 else _MAX_COUNT + 1 for text in (counts[1], counts[3] or "0"))
        if counts[2] is None:
            high = low
        elif not counts[3]:
            high = -1
        if low > _MAX_COUNT or high > _MAX_COUNT or 0 <= high < low:
            raise RegexpError("invalid repeat count", counts[0])
        return low, high

    def _repeat(self, end: int, last_repeat: int, low: int, high: int) -> None:
        pattern, start = self.pattern, self.at
        counted = pattern[start] == "{"
        if pattern.startswith("?", end):
            end += 1
        if last_repeat >= 0:
            raise RegexpError("invalid nested repetition operator", pattern[last_repeat:end])
        nodes = self.groups[-1].nodes
        if not nodes:
            raise RegexpError("missing argument to repetition operator", pattern[start:end])
        operand = nodes.pop()
        copies = (low if high < 0 else high) if counted else 1
        if counted and high >= 0:
            size = high * operand.size + high - low
        else:
            size = max(copies, 1) * operand.size + 2
        factor = 1 if counted and high == 0 else max(copies, 1) * operand.counts
        if max(low, high) >= 2 and factor > _MAX_COUNT:
            raise RegexpError("invalid repeat count", pattern[start:end])
        repetitions = max(copies, 1) * (operand.repetitions + 1)
        self._push(_Node(operand.height + 1, max(size, 1), factor, repetitions))
        self._copy_to(end)

    # Escapes and classes

    def _escape(self) -> None:
        """Read a backslash outside of a class."""
        pattern, start = self.pattern, self.at
        char = pattern[start + 1 : start + 2]
        if char == "C":
            raise RegexpError("invalid escape sequence", "\\C")
        if char == "Q":
            end = pattern.find("\\E", start + 2)
            literal = pattern[start + 2 :] if end < 0 else pattern[start + 2 : end]
            for _ in literal:
                self._push(_ATOM)
            self._write("".join([_quoted(ord(char)) for char in literal]), len(pattern) if end < 0 else end + 2)
            return
        self._push(_ATOM)
        if char and char in "pP":
            members, end = self._unicode_class(start)
            self._write(f"[{members}]", end)
        elif char and char in "AzbBdDsSwW":
            self._copy_to(start + 2)
        else:
            code, end = self._escaped_char(start)
            self._write(_quoted(code), end)

    def _escaped_char(self, start: int) -> tuple[int, int]:
        """Read an escape that stands for one character: its code and where it ends."""
        pattern, at = self.pattern, start + 2
        if at > len(pattern):
            raise RegexpError("trailing backslash at end of expression", "")
        char = pattern[start + 1]
        if char in _CONTROL:
            return _CONTROL[char], at
        octal = _OCTAL.match(pattern, start + 1)
        if octal is not None:
            return int(octal[0], 8), octal.end()
        if char == "x" and at < len(pattern):
            if pattern[at] == "{":
                code, at = 0, at + 1
                digits = at
                while at < len(pattern):
                    digit = pattern[at]
                    at += 1
                    if digit == "}" and at - digits > 1:
                        return code, at
                    if digit not in _HEX or (code := code * 16 + int(digit, 16)) > 0x10FFFF:
                        break
            else:
                digits, at = at, min(at + 2, len(pattern))
                if at - digits == 2 and all(digit in _HEX for digit in pattern[digits:at]):
                    return int(pattern[digits:at], 16), at
        elif ord(char) < 0x80 and not char.isalnum():
            return ord(char), at
        raise RegexpError("invalid escape sequence", pattern[start:at])

    def _unicode_class(self, start: int) -> tuple[str, int]:
        """Read ``\\pL`` or ``\\p{Greek}``: the members of the class as RE2 writes them, and where it ends."""
        pattern = self.pattern
        self.classes += 1
        if self.classes > MAX_CLASSES:
            raise RegexpError("expression too large", pattern)
        if pattern.startswith("{", start + 2):
            end = pattern.find("}", start) + 1
            if end == 0:
                raise RegexpError("invalid character class range", pattern[start:])
            name = pattern[start + 3 : end - 1]
        else:
            end = min(start + 3, len(pattern))
            name = pattern[start + 2 : end]
        negated = pattern[start + 1] == "P"
        if name.startswith("^"):
            negated, name = not negated, name[1:]
        members = class_members(name, negated=negated)
        if members is None:
            raise RegexpError("invalid character class range", pattern[start:end])
        return members, end

    def _char_class(self) -> None:
        pattern, start = self.pattern, self.at
        out = ["["]
        at = start + 1
        if pattern.startswith("^", at):
            out.append("^")
            at += 1
        first = True
        while first or not pattern.startswith("]", at):
            first = False
            if pattern.startswith("[:", at) and (end := pattern.find(":]", at + 2)) >= 0:
                named = pattern[at : end + 2]
                if not _NAMED_CLASS.match(named):
                    raise RegexpError("invalid character class range", named)
                out.append(named)
                at = end + 2
                continue
            after = pattern[at + 1 : at + 2] if pattern.startswith("\\", at) else ""
            if after and after in "pP":
                members, at = self._unicode_class(at)
                out.append(members)
            elif after and after in "dDsSwW":
                out.append(pattern[at : at + 2])
                at += 2
            else:
                text, at = self._range(at, start)
                out.append(text)
        self._push(_ATOM)
        out.append("]")
        self._write("".join(out), at + 1)

    def _range(self, begin: int, class_start: int) -> tuple[str, int]:
        """Read one character of a class, or a range of them."""
        pattern = self.pattern
        low, at = self._class_char(begin, class_start)
        high = low
        if pattern.startswith("-", at) and at + 1 < len(pattern) and pattern[at + 1] != "]":
            high, at = self._class_char(at + 1, class_start)
            if high < low:
                raise RegexpError("invalid character class range", pattern[begin:at])
        return (_quoted(low) if low == high else f"{_quoted(low)}-{_quoted(high)}"), at

    def _class_char(self, at: int, class_start: int) -> tuple[int, int]:
        if at >= len(self.pattern):
            raise RegexpError("missing closing ]", self.pattern[class_start:])
        if self.pattern[at] == "\\":
            return self._escaped_char(at)
        return ord(self.pattern[at]), at + 1


_OCTAL: Final = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_HEX: Final = frozenset("0123456789abcdefABCDEF")


def _quoted(code: int) -> str:
    """Write one character so that it stands for itself in RE2."""
    char = chr(code)
    if code < 0x80:
        return char if char.isalnum() else f"\\x{code:02x}"
    return f"\\x{{{code:x}}}"
