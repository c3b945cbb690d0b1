"""The smallest difference of two runs is described."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from explore.widgets import KIND
from kontend.explore.program.progress import Done, Failure, Progress, difference
from kontend.runtime.client.call import Call
from kontend.runtime.source_location import SourceLocation

CALL = Call("update", KIND, "default", "w", body=b'{"spec":{"a":[{"b":1},{"c":2}]}}')


def _ended(again: bool = False, error: str = "", memory: bytes = b"{}", uuids: int = 0) -> Progress:
    name, _, message = error.partition(": ")
    return Progress((), Done(again, Failure(name, message) if error else None, memory), uuids)


def _waits(**changes: Any) -> Progress:
    return Progress((dataclasses.replace(CALL, **changes),), None, 0)


UPDATE = f"update {KIND} default/w"


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (_ended(), _ended(), ""),
        (_ended(error="ValueError: 1"), _ended(error="ValueError: 2"), ""),
        (_ended(), _ended(again=True), "it ends in one run and asks to run again in another"),
        (_ended(), _ended(error="ValueError: 1"), "it ends in one run and raises ValueError in another"),
        (
            _ended(error="ValueError: 1"),
            _ended(error="KeyError: 1"),
            "it raises ValueError in one run and raises KeyError in another",
        ),
        (
            _ended(memory=b'{"seen":1}'),
            _ended(memory=b'{"seen":2}'),
            "its memory: seen is 1 in one run and 2 in another",
        ),
        (_ended(), _ended(uuids=1), "it generated 0 uuids in one run and 1 in another"),
        (_waits(), _ended(), f"it calls {UPDATE} in one run and ends in another"),
        (
            _waits(),
            Progress((CALL, dataclasses.replace(CALL, name="x")), None, 0),
            f"it calls {UPDATE} in one run and calls {UPDATE} and calls update {KIND} default/x in another",
        ),
        (
            _waits(),
            _waits(body=b'{"spec":{"a":[{"b":1},{"c":3}]}}'),
            f"{UPDATE}: spec.a[1].c is 2 in one run and 3 in another",
        ),
        (
            _waits(),
            _waits(body=b'{"spec":{"a":[{"c":2},{"b":1}]}}'),
            f'{UPDATE}: the order of spec.a is [{{"b":1}},{{"c":2}}] in one run and [{{"c":2}},{{"b":1}}] in another',
        ),
        (
            _waits(),
            _waits(body=b'{"spec":{"a":[{"b":1}]}}'),
            f'{UPDATE}: spec.a is [{{"b":1}},{{"c":2}}] in one run and [{{"b":1}}] in another',
        ),
        (
            _waits(),
            _waits(body=b"{}"),
            f'{UPDATE}: spec is {{"a":[{{"b":1}},{{"c":2}}]}} in one run and absent in another',
        ),
        (
            _waits(),
            _waits(query=(("force", "true"),)),
            f"{UPDATE}: its query is {{}} in one run and {{'force': 'true'}} in another",
        ),
        (
            _waits(),
            _waits(content_type="application/json-patch+json"),
            f"{UPDATE}: its content type is {CALL.content_type} in one run and application/json-patch+json in another",
        ),
        (
            _waits(),
            _waits(body=b"\xff"),
            rf"""{UPDATE}: b'{{"spec":{{"a":[{{"b":1}},{{"c":2}}]}}}}' in one run and b'\xff' in another""",
        ),
    ],
)
def test_the_smallest_difference_is_described(first: Progress, second: Progress, text: str) -> None:
    assert difference(first, second) == text


def test_the_difference_is_in_the_call_that_differs() -> None:
    other = dataclasses.replace(CALL, name="x")
    lines = (SourceLocation("/home/me/a.py", 1), SourceLocation("/home/me/a.py", 2))
    first = Progress((CALL, other), None, 0, lines)
    second = Progress((CALL, dataclasses.replace(other, body=b"{}")), None, 0, lines)
    assert difference(first, second).startswith(f"a.py:2: update {KIND} default/x: spec is ")
