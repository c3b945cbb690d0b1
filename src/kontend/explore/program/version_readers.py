"""Functions of a scenario that read counters: properties, conditions of users, mapping functions, predicates.

They are asked once for the same objects, whatever the versions of these are, and states that differ only in versions
are one state. That would be wrong for a function that tells from two versions which object was written last. Such a
function has to name the field, so its code is searched for the name, and that of the user's functions that it calls.
The same goes for generations, where sets of states that differ only in these count as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from kontend.explore.program.user_code import OURS, UserCode
from kontend.runtime.controller import Controller

#: Names of fields and attributes by which versions are read.
VERSIONS: Final = (
    "resourceVersion",
    "resource_version",
    "changes_since",
    "changes_of",
    "backwards",
)
#: The same for generations, observed ones among them.
GENERATIONS: Final = ("eneration",)


def any_names(fields: Sequence[str], functions: Iterable[object], controllers: Iterable[Controller]) -> bool:
    """A function, or one of the user's own that it calls, has one of the ``fields`` in a name or a text."""
    codes = [UserCode(controller) for controller in controllers]
    seen: set[int] = set()
    pending: list[Any] = list(functions)
    kept: list[Any] = []  # an id is used again after its object is gone
    first = {id(function) for function in pending}
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kept.append(value)
        if not isinstance(value, FunctionType):
            pending += _callables(value, given=id(value) in first)
            continue
        if id(value) in first and any(name in (value.__doc__ or "") for name in fields):
            return True
        file = value.__code__.co_filename
        if file.startswith(OURS) or not (id(value) in first or any(code.has(file) for code in codes)):
            continue
        names, texts = _words_of(value.__code__)
        if any(name in text for name in fields for text in (*texts, *names)):
            return True
        pending += _called(value, names)
    return False


def _callables(value: Any, *, given: bool) -> list[Any]:
    """The functions of something that can be called, or (one of those ``given``) of an object with methods."""
    if isinstance(value, MethodType):
        return [value.__func__]
    if isinstance(value, type):
        return [member for member in vars(value).values() if isinstance(member, FunctionType)]
    if getattr(value, "func", None) is not None and callable(value.func):  # functools.partial
        return [value.func, *getattr(value, "args", ())]
    if given or callable(value):
        own = list(vars(value).values()) if hasattr(value, "__dict__") else []
        return [type(value), *(attribute for attribute in own if callable(attribute))]
    return []


def _words_of(code: CodeType) -> tuple[set[str], set[str]]:
    """The names and the texts of a function, and of those inside it."""
    names, texts = set(code.co_names), set()
    for constant in _constants(code.co_consts):
        if isinstance(constant, CodeType):
            inner_names, inner_texts = _words_of(constant)
            names |= inner_names
            texts |= inner_texts
        elif isinstance(constant, str):
            texts.add(constant)
    return names, texts


def _constants(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (tuple, frozenset)):
            yield from _constants(value)
        else:
            yield value


def _called(function: FunctionType, names: set[str]) -> Iterator[Any]:
    """The functions and classes that a function may call: globals, members of modules, variables around it."""
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, (FunctionType, type)):
            yield value
        elif isinstance(value, ModuleType):
            yield from (member for other in names if isinstance(member := getattr(value, other, None), FunctionType))
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        if callable(value):
            yield value
    yield from (default for default in function.__defaults__ or () if callable(default))
