"""Finds coroutines that a reconcile creates and never awaits, such as ``api.patch(...)`` without ``await``.

Such a call does nothing. Python warns about it when the coroutine is destroyed; a reconcile that seems to succeed must
not hide that, so here it is an error that names the line. CPython reports every coroutine that is destroyed before it
was started to ``warnings._warn_unawaited_coroutine``. While a reconcile runs, its reports are collected for it instead;
a context variable tells concurrent reconciles apart. The rejected alternative, awaitables of our own that register
with the ``Api``, would miss the user's own coroutines (``self.scale_up(api)``) and cost every call.
"""

from __future__ import annotations

import inspect
import linecache
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import CoroutineType
from typing import Any, Final

from kontend.runtime.source_location import SourceLocation

_HOOK: Final = "_warn_unawaited_coroutine"
_reports: ContextVar[list[str] | None] = ContextVar("unawaited coroutines", default=None)


@contextmanager
def collect_unawaited() -> Iterator[list[str]]:
    """Collect a message for each coroutine that is destroyed without having been awaited, while the block runs."""
    _install()
    reports: list[str] = []
    token = _reports.set(reports)
    try:
        yield reports
    finally:
        with suppress(ValueError):  # a coroutine that is closed by the garbage collector ends in another context
            _reports.reset(token)


def close_pending(error: BaseException) -> list[str]:
    """Close the coroutines in the variables of a traceback that were never started, and return a message for each.

    An error often comes from such a coroutine: ``child = api.create(child)`` and then ``child["metadata"]``.
    """
    messages: dict[str, None] = {}
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for value in frame.f_locals.values():
            if inspect.iscoroutine(value) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
                messages[_message(value)] = None
                value.close()  # reported now, so that Python need not warn about it later
    return list(messages)


def _install() -> None:
    """Put the collector before the interpreter's own report; every thread must also record where coroutines begin."""
    if sys.get_coroutine_origin_tracking_depth() < 1:
        sys.set_coroutine_origin_tracking_depth(1)
    default: Callable[[Any], None] | None = getattr(warnings, _HOOK, None)
    if default is None or getattr(default, "collects", False):
        return

    def report(coroutine: CoroutineType[Any, Any, Any]) -> None:
        reports = _reports.get()
        if reports is None:
            default(coroutine)
        else:
            reports.append(_message(coroutine))

    report.collects = True  # type: ignore[attr-defined]
    setattr(warnings, _HOOK, report)


def _message(coroutine: CoroutineType[Any, Any, Any]) -> str:
    name = f"{coroutine.__qualname__}()"
    if not coroutine.cr_origin:
        return f"{name} was never awaited, so it did nothing; write 'await' before the call"
    file, line, _ = coroutine.cr_origin[0]
    source = linecache.getline(file, line).strip()
    where = f"{SourceLocation(file, line)}: {name} was never awaited, so it did nothing"
    return f"{where}; write 'await' before the call: {source}" if source else f"{where}; write 'await' before the call"
