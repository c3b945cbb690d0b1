"""User-defined properties: ``always``, ``never``, ``eventually`` and ``sometimes``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from kontend.cluster.cluster import Cluster
from kontend.explore.problems import BadScenario
from kontend.explore.program.event_loop import Unsupported
from kontend.explore.program.pure_functions import PureFunction
from kontend.explore.program.user_code import UserCode
from kontend.runtime.source_location import SourceLocation, caller, raised_at

#: A question about a cluster, or (two arguments) about one write: the cluster before it and after it.
Question = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Property:
    """Something that must hold, made by :func:`always`, :func:`never`, :func:`eventually` or :func:`sometimes`.

    >>> never(lambda before, after: False, name="shrinks").arity
    2
    """

    mode: Literal["always", "never", "eventually", "sometimes"]
    question: Question
    name: str
    #: 1 for a question about a cluster, 2 for one about a write.
    arity: int
    line: SourceLocation | None = field(default_factory=caller, kw_only=True, compare=False, repr=False)
    #: Describes what is wrong with the question, given the kinds that a cluster serves; None where that is not known.
    mistake: Callable[[Cluster], str] | None = field(default=None, kw_only=True, compare=False, repr=False)
    #: Reports whether the question has an answer; None where it always has one.
    has_answer: Question | None = field(default=None, kw_only=True, compare=False, repr=False)
    #: Describes an object for which the question has no answer, empty if there is none; None where it always has one.
    unanswered: Callable[[Cluster], str] | None = field(default=None, kw_only=True, compare=False, repr=False)
    #: Holds the question to what it is given.
    _pure: PureFunction = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pure", PureFunction(f"the property {self}", UserCode(), is_repeated=False))

    def __str__(self) -> str:
        return f"{self.mode}({self.name})"

    @property
    def is_invariant(self) -> bool:
        """Judged at every write: ``always`` and ``never``."""
        return self.mode in ("always", "never")

    def is_broken_by(self, answer: bool) -> bool:
        """An answer to its question breaks the invariant."""
        return answer != (self.mode == "always")

    def ask(self, *clusters: Cluster, when: str = "during the search") -> bool:
        """The answer to its question. A question that raises is a mistake in the scenario, not a violation."""
        try:
            return self._pure.answer(lambda: bool(self.question(*clusters)))
        except Unsupported as error:
            raise BadScenario(str(error)) from None
        except Exception as error:
            raise BadScenario(
                f"{self} raised {type(error).__name__}: {error} ({when}); "
                "a property must have an answer for every cluster, also where something is missing",
                raised_at(error) or self.line,
            ) from error


def always(question: Question, *, name: str = "") -> Property:
    """Holds in every state (or, with two arguments, for every write).

    >>> str(always(lambda cluster: bool(cluster.list("Namespace/v1")), name="has namespaces"))
    'always(has namespaces)'
    """
    return _property("always", question, name)


def never(question: Question, *, name: str = "") -> Property:
    """Holds in no state (or for no write).

    >>> str(never(lambda cluster: False, name="wrong"))
    'never(wrong)'
    """
    return _property("never", question, name)


def eventually(question: Question, *, name: str = "") -> Property:
    """Holds in every quiescent state; and every fair run reaches one, or a state in which it holds, again and again.

    >>> str(eventually(lambda cluster: True, name="ready"))
    'eventually(ready)'
    """
    return _property("eventually", question, name)


def sometimes(question: Question, *, name: str = "") -> Property:
    """Holds in at least one state: guards against scenarios in which nothing happens.

    >>> str(sometimes(lambda cluster: True, name="busy"))
    'sometimes(busy)'
    """
    return _property("sometimes", question, name)


def _property(mode: Any, question: Question, name: str) -> Property:
    if not callable(question):
        raise BadScenario(f"{mode}: expected a function of a cluster, found {question!r}", caller())
    try:
        arity = _arity(question)
    except ValueError as error:
        raise BadScenario(f"{mode}: expected a function of a cluster: {error}", caller()) from error
    made = Property(mode, question, name or getattr(question, "__name__", mode), arity)
    if inspect.iscoroutinefunction(question):
        raise BadScenario(f"{made}: expected a plain function; write def, not async def", made.line)
    wanted = (1,) if mode in ("eventually", "sometimes") else (1, 2)
    if made.arity not in wanted:
        expected = "(cluster)" if wanted == (1,) else "(cluster) or (before, after)"
        raise BadScenario(f"{made}: expected a function of {expected}, it has {made.arity} arguments", made.line)
    return made


def _arity(question: Question) -> int:
    """The number of arguments that a function must be given."""
    parameters = inspect.signature(question).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return sum(parameter.default is parameter.empty and parameter.kind not in variadic for parameter in parameters)
