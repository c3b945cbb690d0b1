"""Functions of the user that are no reconciles: mapping functions, predicates, properties, conditions of actions.

The explorer calls each once for the same input and keeps the answer, so they must depend on nothing else. They are held
to what a reconcile is held to: nothing leaves the process, and no call computes without an end. The first calls, and
some later ones, are watched for clocks and random numbers, and made twice: a different answer is an error. Properties
are asked once, because they may collect what they see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from kontend.explore.program.event_loop import Unsupported
from kontend.explore.program.impure_calls import ImpureCalls
from kontend.explore.program.outside import confined
from kontend.explore.program.user_code import UserCode
from kontend.runtime.controller import Controller
from kontend.runtime.indexes import Indexer

_T = TypeVar("_T")
#: The calls that are watched: the first ones, and then one in this number.
_FIRST: Final = 3
_EVERY: Final = 256
_REMEDY: Final = "it may only look at what it is given"


class PureFunction:
    """A function of the user that must be pure.

    >>> PureFunction("always(ready)", UserCode()).answer(lambda: 3)
    3
    """

    __slots__ = ("_calls", "_code", "_is_repeated", "_who", "unsupported")

    def __init__(self, who: str, code: UserCode, *, is_repeated: bool = True) -> None:
        """``who`` is the subject of messages."""
        self._who = who
        self._code = code
        self._is_repeated = is_repeated
        self._calls = 0
        #: The first thing that it was refused.
        self.unsupported: Unsupported | None = None

    def answer(self, call: Callable[[], _T]) -> _T:
        """The answer of one call. Raises ``Unsupported`` for one that is not pure."""
        self._calls += 1
        self.unsupported = None
        with confined(self, self._code, self._who, _REMEDY):
            if self._calls > _FIRST and self._calls % _EVERY:
                answer = call()
            else:
                answer = self._watched(call)
        if self.unsupported is not None:  # the function has caught it
            raise self.unsupported
        return answer

    def _watched(self, call: Callable[[], _T]) -> _T:
        with ImpureCalls(self._code) as calls:
            answer = call()
        causes = calls.forbidden()
        if not causes and self._is_repeated and call() != answer:
            causes = ["a second call with the same input has another answer: it keeps something from one to the next"]
        if causes:
            lines = "\n  ".join(causes)
            raise Unsupported(f"{self._who} depends on more than what it is given\n  {lines}")
        return answer


def guarded_indexes(controller: Controller) -> dict[str, dict[str, Indexer]]:
    """The indexes of a controller by kind and name, each held to what it is given."""
    code = UserCode(controller)

    def guarded(name: str, indexer: Indexer) -> Indexer:
        function = PureFunction(f"{controller.name}: the index {name}", code)
        return lambda obj: function.answer(lambda: list(indexer(obj)))

    return {
        kind: {name: guarded(name, indexer) for name, indexer in indexers.items()}
        for kind, indexers in controller.indexes.items()
    }
