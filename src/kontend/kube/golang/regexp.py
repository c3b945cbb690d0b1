"""Regular expressions as the server reads them: Go's syntax (RE2), run by Python's engine.

``pattern`` in a schema and ``matches`` in CEL are RE2. Most of it means the same in Python, but ``$`` must not match
before a last newline, ``\\d`` is ASCII only, ``(?i)`` may stand anywhere, ``\\z``, ``\\pL`` and ``[[:alpha:]]`` are
unknown to Python, and what RE2 leaves out (look-around, back-references) is an error with Go's message.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache
from typing import Final


class RegexpError(ValueError):
    """A pattern that Go does not compile; the text is Go's."""

    def __init__(self, code: str, expression: str) -> None:
        super().__init__(f"error parsing regexp: {code}: `{expression}`")


@lru_cache(maxsize=1024)
def compile_regexp(pattern: str) -> re.Pattern[str]:
    """Compiles a Go pattern; use ``search`` on the result, as Go's ``MatchString`` does.

    >>> bool(compile_regexp("^a$").search("a\\n")), bool(compile_regexp(r"x(?i)b\\z").search("xB"))
    (False, True)
    """
    text = _Translator(pattern).translate()
    try:
        return re.compile(text)
    except re.error as error:  # what Go would take and Python cannot
        raise RegexpError(str(error), pattern) from None


_PERL: Final = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\\t\\n\\f\\r "}
_SIMPLE: Final = {"a": "\\a", "f": "\\f", "t": "\\t", "n": "\\n", "r": "\\r", "v": "\\v"}
_POSIX: Final = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7F", "blank": "\\t ", "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ", "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_REPEAT: Final = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_NAME: Final = re.compile(r"\(\?P?<([A-Za-z0-9_]*)>")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(-[imsU]+)?([:)])")
_MOST_REPEATS: Final = 1000


class _Translator:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.multi_line = False
        self.ungreedy = False

    def translate(self) -> str:
        out = self._group(nested=False)
        if self.at < len(self.pattern):
            raise RegexpError("unexpected )", self.pattern)
        return out

    def _group(self, *, nested: bool) -> str:
        """Everything up to the end, or up to the ``)`` that closes this group."""
        pattern = self.pattern
        out: list[str] = []
        flags_open: list[str] = []  # groups that only carry flags, to be closed where this group ends
        saved = self.multi_line, self.ungreedy
        last = ""  # the operand of a repetition, empty when there is none
        while self.at < len(pattern):
            char = pattern[self.at]
            if char == ")":
                if not nested:
                    break
                self.multi_line, self.ungreedy = saved
                return "".join(out) + ")" * len(flags_open)
            if char in "*+?" or (char == "{" and _REPEAT.match(pattern, self.at)):
                out.append(self._repetition(last))
                last = ""
                continue
            last = ""
            if char == "|":
                self.at += 1
                # Flags set before the bar hold after it, so close and open them again.
                out.append(")" * len(flags_open) + "|" + "".join(flags_open))
                continue
            if char == "(":
                flags = _FLAGS.match(pattern, self.at)
                if flags and flags[3] == ")":
                    self.at = flags.end()
                    text = self._set_flags(flags)
                    if text:
                        out.append(text)
                        flags_open.append(text)
                    continue
                last = self._parenthesis()
            elif char == "[":
                last = self._char_class()
            elif char == "\\":
                last = self._escape()
            else:
                self.at += 1
                last = self._plain(char)
            out.append(last)
        if nested:
            raise RegexpError("missing closing )", pattern)
        return "".join(out) + ")" * len(flags_open)

    def _plain(self, char: str) -> str:
        if char == "^":
            return "(?m:^)" if self.multi_line else "\\A"
        if char == "$":
            return "(?m:$)" if self.multi_line else "\\Z"
        return char if char == "." else re.escape(char)

    def _set_flags(self, flags: re.Match[str]) -> str:
        """Takes over flags; the opening of a Python group that says the same, or nothing."""
        on, off = flags[1], (flags[2] or "")[1:]
        self.multi_line = ("m" in on or self.multi_line) and "m" not in off
        self.ungreedy = ("U" in on or self.ungreedy) and "U" not in off
        on, off = (re.sub("[mU]", "", each) for each in (on, off))
        if not on and not off:
            return ""
        return f"(?{on}-{off}:" if off else f"(?{on}:"

    def _parenthesis(self) -> str:
        pattern, start = self.pattern, self.at
        saved = self.multi_line, self.ungreedy
        opening = "("
        if pattern.startswith("(?", start):
            name, flags = _NAME.match(pattern, start), _FLAGS.match(pattern, start)
            if name:
                if not name[1]:
                    raise RegexpError("invalid named capture", name[0])
                opening, self.at = f"(?P<{name[1]}>" if name[1].isidentifier() else "(", name.end()
            elif flags:
                self.at = flags.end()
                opening = self._set_flags(flags) or "(?:"
            else:
                raise RegexpError("invalid or unsupported Perl syntax", pattern[start : start + 3])
        else:
            self.at += 1
        body = self._group(nested=True)
        self.at += 1
        self.multi_line, self.ungreedy = saved
        return f"{opening}{body})"

    def _repetition(self, operand: str) -> str:
        pattern, start = self.pattern, self.at
        counted = _REPEAT.match(pattern, start) if pattern[start] == "{" else None
        self.at = counted.end() if counted else start + 1
        operator = pattern[start : self.at]
        if not operand:
            previous = re.search(r"(?:[*+?]|\{\d+(?:,\d*)?\})\??$", pattern[:start])
            if previous and start and pattern[start - 1] not in "(|":
                raise RegexpError("invalid nested repetition operator", previous[0] + operator)
            raise RegexpError("missing argument to repetition operator", operator)
        if counted:
            low, high = int(counted[1]), int(counted[3]) if counted[3] else -1
            if low > _MOST_REPEATS or high > _MOST_REPEATS or (0 <= high < low):
                raise RegexpError("invalid repeat count", operator)
        lazy = self.at < len(pattern) and pattern[self.at] == "?"
        if lazy:
            self.at += 1
        return operator + ("?" if lazy != self.ungreedy else "")

    def _escape(self) -> str:
        """An escape outside of a class."""
        pattern, start = self.pattern, self.at
        char = pattern[start + 1 : start + 2]
        if char in ("A", "z"):
            self.at += 2
            return "\\A" if char == "A" else "\\Z"
        if char in ("b", "B"):
            self.at += 2
            return f"(?a:\\{char})"
        if char == "Q":
            end = pattern.find("\\E", start + 2)
            literal = pattern[start + 2 :] if end < 0 else pattern[start + 2 : end]
            self.at = len(pattern) if end < 0 else end + 2
            return f"(?:{re.escape(literal)})"
        if char and char.lower() in _PERL:
            self.at += 2
            return f"[{'^' if char.isupper() else ''}{_PERL[char.lower()]}]"
        if char in ("p", "P"):
            negated, members = self._unicode_class()
            return f"[{'^' if negated else ''}{members}]"
        return re.escape(self._escaped_char())

    def _escaped_char(self) -> str:
        """An escape that stands for one character."""
        pattern, start = self.pattern, self.at
        if start + 1 >= len(pattern):
            raise RegexpError("trailing backslash at end of expression", "")
        char = pattern[start + 1]
        self.at = start + 2
        if char in _SIMPLE:
            return _SIMPLE[char].encode().decode("unicode_escape")
        octal = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}").match(pattern, start + 1)
        if octal:
            self.at = octal.end()
            return chr(int(octal[0], 8))
        if char == "x":
            found = re.compile(r"([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\}").match(pattern, self.at)
            if found and int(found[1] or found[2], 16) <= sys.maxunicode:
                self.at = found.end()
                return chr(int(found[1] or found[2], 16))
        elif ord(char) < 0x80 and not char.isalnum():
            return char
        raise RegexpError("invalid escape sequence", pattern[start : self.at])

    def _char_class(self) -> str:
        pattern, start = self.pattern, self.at
        self.at += 1
        negated = pattern.startswith("^", self.at)
        self.at += negated
        out: list[str] = []
        first = True
        while first or self.at >= len(pattern) or pattern[self.at] != "]":
            if self.at >= len(pattern):
                raise RegexpError("missing closing ]", pattern[start:])
            first = False
            named = re.compile(r"\[:(\^?)([A-Za-z]+):\]").match(pattern, self.at)
            if named:
                if named[2] not in _POSIX:
                    raise RegexpError("invalid character class range", named[0])
                self.at = named.end()
                out.append(_complement(_POSIX[named[2]]) if named[1] else _POSIX[named[2]])
                continue
            after = pattern[self.at + 1 : self.at + 2] if pattern[self.at] == "\\" else ""
            if after and after.lower() in _PERL:
                self.at += 2
                members = _PERL[after.lower()]
                out.append(_complement(members) if after.isupper() else members)
                continue
            if after in ("p", "P") and after:
                outside, members = self._unicode_class()
                out.append(_complement(members) if outside else members)
                continue
            out.append(self._class_range(start))
        self.at += 1
        return f"[{'^' if negated else ''}{''.join(out)}]"

    def _class_range(self, start: int) -> str:
        pattern, begin = self.pattern, self.at
        low = self._class_char(start)
        if pattern.startswith("-", self.at) and pattern[self.at + 1 : self.at + 2] not in ("", "]"):
            self.at += 1
            high = self._class_char(start)
            if high < low:
                raise RegexpError("invalid character class range", pattern[begin : self.at])
            return f"{re.escape(low)}-{re.escape(high)}"
        return _class_escape(low)

    def _class_char(self, start: int) -> str:
        if self.at >= len(self.pattern):
            raise RegexpError("missing closing ]", self.pattern[start:])
        char = self.pattern[self.at]
        if char == "\\":
            return self._escaped_char()
        self.at += 1
        return char

    def _unicode_class(self) -> tuple[bool, str]:
        found = re.compile(r"\\([pP])(?:\{(\^?)([A-Za-z_]+)\}|([A-Z]))").match(self.pattern, self.at)
        members = _unicode_members(found[3] or found[4]) if found else None
        if found is None or members is None:
            wrong = found[0] if found else self.pattern[self.at : self.at + 3]
            raise RegexpError("invalid character class range", wrong)
        self.at = found.end()
        return (found[1] == "P") != bool(found[2]), members


def _class_escape(char: str) -> str:
    return char if char.isalnum() else f"\\{char}" if ord(char) < 0x80 and not char.isspace() else re.escape(char)


def _ranges(wanted: list[int]) -> str:
    out: list[str] = []
    begin = previous = -2
    for code in [*wanted, -2]:
        if code != previous + 1:
            if begin >= 0:
                out.append(f"\\U{begin:08x}-\\U{previous:08x}")
            begin = code
        previous = code
    return "".join(out)


@lru_cache(maxsize=64)
def _unicode_members(name: str) -> str | None:
    """The inside of a class for a general category (``L``, ``Lu``) or a script (``Greek``, by character names)."""
    codes = range(sys.maxunicode + 1)
    if len(name) <= 2:
        found = [code for code in codes if unicodedata.category(chr(code)).startswith(name)]
    else:
        prefix = {"Han": "CJK"}.get(name, name.upper().replace("_", " ")) + " "
        found = [code for code in codes if unicodedata.name(chr(code), "").startswith(prefix)]
    return _ranges(found) if found else None


@lru_cache(maxsize=64)
def _complement(members: str) -> str:
    inside = re.compile(f"[{members}]")
    return _ranges([code for code in range(sys.maxunicode + 1) if not inside.match(chr(code))])
