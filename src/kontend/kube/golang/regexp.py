"""Regular expressions as Go runs them, on RE2.

``pattern`` in a schema and ``matches`` in CEL are Go's regular expressions. Go's ``regexp`` and RE2 are one design:
matching takes time in proportion to the text, whatever the pattern. :mod:`~kontend.kube.golang.regexp_syntax` checks a
pattern by Go's rules first, so that a pattern that Go refuses is refused with Go's text.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import Any, Final

import re2

from kontend.kube.golang.regexp_syntax import RegexpError, rewrite

__all__ = ["Regexp", "RegexpError", "compile_regexp"]

#: Memory limits of a pattern and its automaton. Most fit into the first; a pattern beyond the last is refused.
_MEMORY: Final = (1 << 20, 8 << 20)


class Regexp:
    """A compiled pattern."""

    __slots__ = ("_compiled", "pattern")

    def __init__(self, pattern: str, compiled: Any) -> None:
        self.pattern = pattern
        self._compiled = compiled

    def matches(self, text: str) -> bool:
        """Return whether the pattern occurs anywhere in the text, as Go's ``MatchString`` does.

        >>> compile_regexp("^a$").matches("a\\n"), compile_regexp(r"x(?i)b\\z").matches("xB")
        (False, True)
        """
        return self._compiled.search(_encoded(text)) is not None

    def find_all(self, text: str, limit: int | None = None) -> list[str]:
        """Return the matches from left to right, as Go's ``FindAllString`` does.

        >>> compile_regexp("a*").find_all("baac")
        ['', 'aa', '']
        """
        return list(islice(self._matches(_encoded(text)), limit))

    def _matches(self, text: bytes) -> Any:
        at, previous_end = 0, -1
        while at <= len(text):
            match = self._compiled.search(text, at)
            if match is None:
                return
            start, end = match.span()
            # An empty match right after the one before does not count.
            if start != end or start != previous_end:
                yield text[start:end].decode()
            previous_end = end
            at = end if end > at else at + _width(text, at)


@lru_cache(maxsize=1024)
def compile_regexp(pattern: str) -> Regexp:
    """Compile a Go pattern. Raises :class:`RegexpError` with Go's text."""
    rewritten = rewrite(pattern)
    for memory in _MEMORY:
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = memory
        try:
            return Regexp(pattern, re2.compile(rewritten, options))
        except re2.error:
            continue
    raise RegexpError("expression too large", pattern)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _width(text: bytes, at: int) -> int:
    """Return the length of the character at a place, at least 1."""
    end = at + 1
    while end < len(text) and text[end] & 0xC0 == 0x80:
        end += 1
    return end - at
