"""Failures of calls that differ in their code: 500, 429 and 503.

A server that refuses a request before it carries it out says why by a code. Most code does not look at it: whatever it
does after a 500 it also does after a 429 or a 503. So only the 500 is tried, and each path with one is run again with
the other codes in its place. Where such a run does something else, :class:`Assumption.SAME_FAILURES` is refuted, and
the search starts again with all codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

import orjson

from kontend.explore.program.progress import Progress
from kontend.kube.errors import ApiError, InternalError, ServiceUnavailable, too_many_requests


def refusal(error: ApiError) -> bytes:
    """The response of a server that refuses a call."""
    return b"!" + orjson.dumps(error.status())


_NOT_DONE: Final = "and has not carried out the request"
#: The failure that stands for all, and the others.
FAILED: Final = refusal(InternalError(f"the server failed, {_NOT_DONE}"))
THROTTLED: Final = refusal(too_many_requests(f"the server has too many requests, {_NOT_DONE}", retry_after=1))
UNAVAILABLE: Final = refusal(ServiceUnavailable(f"the server is not available, {_NOT_DONE}"))
_CODES: Final = (FAILED, THROTTLED, UNAVAILABLE)


def with_other_codes(responses: Sequence[bytes]) -> Iterator[list[bytes]]:
    """The same responses with other codes in place of each 500 that stands for them.

    >>> len(list(with_other_codes([b"={}", FAILED]))), len(list(with_other_codes([b"={}"])))
    (2, 0)
    """
    places = [at for at, response in enumerate(responses) if response == FAILED]
    for codes in product(_CODES, repeat=len(places)):
        if any(code != FAILED for code in codes):
            changed = list(responses)
            for at, code in zip(places, codes, strict=True):
                changed[at] = code
            yield changed


def is_same_course(first: Progress, second: Progress) -> bool:
    """Two runs do the same, whatever the text of the error is with which they end."""
    return _course(first) == _course(second)


def _course(progress: Progress) -> tuple[object, ...]:
    done = progress.done
    end: tuple[object, ...] = ()
    if done is not None:
        failure = done.failure
        bug = failure.line if failure is not None and failure.is_bug else None
        end = (done.again, done.after, done.memory, failure is not None, bug)
    return progress.calls, end, progress.uuids, progress.asks_time
