"""A call that is a statement of its own is recognised, with the source or without it."""

from __future__ import annotations

import linecache
import sys
from types import FrameType
from typing import Any

import pytest

from kontend.pytest_plugin.bare_calls import is_bare

BARE = [
    "call()",
    "call(\n    1,\n    2,\n)",
    "for _ in range(1):\n    call()",
    "'äöü€'; call()",
    "if call():\n    pass\ncall()",
    "try:\n    call()\nfinally:\n    pass",
    "with open('/dev/null') as f:\n    call(f)",
    "def inner():\n    call()\n    return 1\nx = inner()",
    "call(call2())",
]
USED = [
    "x = call()",
    "assert call()",
    "assert not call() or True",
    "y = [call()]",
    "if call():\n    pass",
    "x = y = call()",
    "call().real",
    "call() + 1",
    "print(call(), end='')",
    "z = call() if True else None",
    "(lambda: call())()",
    "{'ä': call()}['ä']",
    "def inner():\n    return call()\ninner()",
    "call() and None",
    "f'{call()}'",
]


def answer_of(text: str, *, source: bool) -> bool:
    """The message about the last call in some code."""
    answers = []

    def call(*_: object) -> int:
        frame: FrameType | None = sys._getframe(1)
        assert frame is not None
        answers.append(is_bare(frame))
        return 1

    name = f"<{text!r} {source}>"
    if source:
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"call": call, "call2": lambda: 0}
    try:
        exec(compile(text, name, "exec"), names)  # noqa: S102 - the code is in this file
    finally:
        linecache.cache.pop(name, None)
    return answers[-1]


@pytest.mark.parametrize("source", [True, False])
@pytest.mark.parametrize("text", BARE)
def test_a_statement_drops_the_result(text: str, source: bool) -> None:
    """However it is laid out."""
    assert answer_of(text, source=source)


@pytest.mark.parametrize("source", [True, False])
@pytest.mark.parametrize("text", USED)
def test_an_expression_uses_the_result(text: str, source: bool) -> None:
    """The message does not depend on the use of the result."""
    assert not answer_of(text, source=source)


def test_a_file_that_has_changed_does_not_mislead() -> None:
    """The bytecode decides where the source is not that of the code."""
    text, name = "x = call()", "<changed>"
    linecache.cache[name] = (7, None, ["# other\n"], name)
    answers = []

    def call() -> None:
        frame: FrameType | None = sys._getframe(1)
        assert frame is not None
        answers.append(is_bare(frame))

    try:
        exec(compile(text, name, "exec"), {"call": call})  # noqa: S102 - the code is in this file
    finally:
        linecache.cache.pop(name, None)
    assert answers == [False]
