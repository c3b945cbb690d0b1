"""Strings: what CEL has, its string extension, and the patterns of Kubernetes."""

from __future__ import annotations

from typing import Any

from kontend.kube.cel.library.formatting import format_string, quote
from kontend.kube.cel.library.functions import FUNCTIONS, register, show
from kontend.kube.cel.values import EvalError, NoOverload, equal
from kontend.kube.golang.regexp import Regexp, RegexpError, compile_regexp

FUNCTIONS["format"] = format_string
FUNCTIONS["strings.quote"] = quote


def _out_of_range(position: int) -> EvalError:
    return EvalError(f"index out of range: {position}")


@register("charAt")
def char_at(text: str, position: int) -> str:
    """Return the character at a position; just behind the end it is empty."""
    if not 0 <= position <= len(text):
        raise _out_of_range(position)
    return text[position : position + 1]


@register("indexOf")
def index_of(where: Any, what: Any, start: int = 0) -> int:
    """Return the position of the first occurrence in a text or a list."""
    if isinstance(where, list):
        return next((position for position, item in enumerate(where) if equal(item, what)), -1)
    if type(where) is not str or type(what) is not str:
        raise NoOverload
    if what == "":
        return start
    if start < 0:
        raise _out_of_range(start)
    return where.find(what, start)


@register("lastIndexOf")
def last_index_of(where: Any, what: Any, start: int | None = None) -> int:
    """Return the position of the last occurrence in a text or a list."""
    if isinstance(where, list):
        return next((position for position in range(len(where) - 1, -1, -1) if equal(where[position], what)), -1)
    if type(where) is not str or type(what) is not str:
        raise NoOverload
    if start is None:
        return where.rfind(what)
    if what == "":
        return start
    if start < 0:
        raise _out_of_range(start)
    if start >= len(where):
        return -1
    return where.rfind(what, 0, start + len(what))


@register("lowerAscii")
def lower_ascii(text: str) -> str:
    """ASCII letters in lower case."""
    return "".join(char.lower() if char.isascii() else char for char in text)


@register("upperAscii")
def upper_ascii(text: str) -> str:
    """ASCII letters in upper case."""
    return "".join(char.upper() if char.isascii() else char for char in text)


@register("replace")
def replace(text: str, old: str, new: str, most: int = -1) -> str:
    """Return a text with some parts exchanged."""
    return text.replace(old, new, most)


@register("split")
def split(text: str, separator: str, most: int = -1) -> list[str]:
    """Return the parts between separators; an empty separator cuts between characters."""
    if most == 0:
        return []
    if separator:
        return text.split(separator, most - 1 if most > 0 else -1)
    if most < 0 or most >= len(text):
        return list(text)
    return [*text[: most - 1], text[most - 1 :]]


@register("substring")
def substring(text: str, start: int, end: int | None = None) -> str:
    """Return a part of a text."""
    if end is not None and start > end:
        raise EvalError(f"invalid substring range. start: {start}, end: {end}")
    for position in (start, end):
        if position is not None and not 0 <= position <= len(text):
            raise _out_of_range(position)
    return text[start:end]


@register("trim")
def trim(text: str) -> str:
    """Return a text without white space around it."""
    return text.strip(
        " \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
    )


@register("join")
def join(parts: list[Any], separator: str = "") -> str:
    """All parts in one text."""
    for part in parts:
        if type(part) is not str:
            raise EvalError(f"join: invalid input: {show(part)}")
    return separator.join(parts)


def _text(*values: Any) -> None:
    if not all(type(value) is str for value in values):
        raise NoOverload


def compiled(pattern: str) -> Regexp:
    """Compile a pattern; one that Go refuses is an error of the evaluation."""
    try:
        return compile_regexp(pattern)
    except RegexpError as error:
        raise EvalError(str(error)) from None


@register("matches")
def matches(text: Any, pattern: Any) -> bool:
    """Report whether the pattern is found anywhere in the text."""
    _text(text, pattern)
    return compiled(pattern).matches(text)


@register("contains")
def contains(text: Any, part: Any) -> bool:
    """Report whether the text contains a part."""
    _text(text, part)
    return part in text


@register("startsWith")
def starts_with(text: Any, part: Any) -> bool:
    """Report whether the text begins with a part."""
    _text(text, part)
    return bool(text.startswith(part))


@register("endsWith")
def ends_with(text: Any, part: Any) -> bool:
    """Report whether the text ends with a part."""
    _text(text, part)
    return bool(text.endswith(part))


@register("find")
def find(text: Any, pattern: Any) -> str:
    """Return the first match, or nothing."""
    _text(text, pattern)
    return next(iter(compiled(pattern).find_all(text, 1)), "")


@register("findAll")
def find_all(text: Any, pattern: Any, most: int = -1) -> list[str]:
    """All matches, or the first few."""
    _text(text, pattern)
    try:
        return compile_regexp(pattern).find_all(text, None if most < 0 else most)
    except RegexpError as error:
        raise EvalError(f"Illegal regex: {error}") from None
