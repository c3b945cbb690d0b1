"""Results of work in other processes: exceptions travel as values, because engines wrap them in ways of their own."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple


class Raised(NamedTuple):
    """An exception, as a result."""

    error: Exception


def result_of(answer: Any) -> Any:
    """Return the result of a call, or its exception.

    >>> result_of(Raised(ValueError("no")))
    Traceback (most recent call last):
    ValueError: no
    """
    if isinstance(answer, Raised):
        raise answer.error
    return answer


def portable(error: Exception) -> Exception:
    """Return an exception that another process can read: itself, or its text where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 (our own bytes)
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
