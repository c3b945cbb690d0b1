"""What a reconcile keeps from one run to the next without having said so.

Attributes that are not named in ``memory`` and global variables are not part of a world, so a reconcile that changes
them does something else the next time for a reason that the explorer cannot see. Plain data is compared from before a
run to after it. Objects are not looked into: clients, loggers, metrics and the caches of functools change all the time
and mean no harm.
"""

from __future__ import annotations

import inspect
import marshal
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType, NoneType
from typing import Any, Final

from kontend.explore.user_code import UserCode
from kontend.runtime.controller import Controller

_PLAIN: Final = frozenset({bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple, NoneType})
_DICTS: Final = frozenset({Counter, OrderedDict, defaultdict})
#: What takes more bytes than this is not looked at again: it is data, and comparing it would cost too much.
_LARGEST: Final = 1 << 16
_ABSENT: Final = b""

#: Whose it is (self, a class or a module), and its name.
Variable = tuple[str, str, str]


class Undeclared:
    """The variables within reach of a controller that are not its declared memory."""

    def __init__(self, controller: Controller, code: UserCode) -> None:
        self._controller = controller
        self._too_large: set[Variable] = set()
        self._classes = [
            each for each in type(controller).__mro__ if each is not Controller and issubclass(each, Controller)
        ]
        self._modules = _modules_of(self._classes, code)

    def values(self) -> dict[Variable, bytes | None]:
        """What stands for the value of each variable: None for whatever is not plain data."""
        found: dict[Variable, bytes | None] = {}
        for scope, owner, variables in self._scopes():
            for name, value in tuple(variables.items()):
                variable = (scope, owner, name)
                if name.startswith("__") or variable in self._too_large:
                    continue
                data = _fingerprint(value)
                if data is not None and len(data) > _LARGEST:
                    self._too_large.add(variable)
                    data = None
                found[variable] = data
        return found

    def changed(self, before: Mapping[Variable, bytes | None]) -> list[str]:
        """What changed since, in words that say what to do about it."""
        after = self.values()
        return [
            self._told(variable)
            for variable in sorted({*before, *after})
            if (old := before.get(variable, _ABSENT)) != (new := after.get(variable, _ABSENT))
            # From or to an object: a client that was made when it was first needed, say.
            and old is not None
            and new is not None
            and variable not in self._too_large
        ]

    def _scopes(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        memory = set(self._controller.memory)
        own: dict[str, Any] = getattr(self._controller, "__dict__", {})
        yield "self", "", {name: own[name] for name in own if name not in memory and not self._is_cached(name)}
        for each in self._classes:
            yield "class", each.__qualname__, {name: value for name, value in vars(each).items() if name not in memory}
        for module in self._modules:
            yield "module", module.__name__, vars(module)

    def _is_cached(self, name: str) -> bool:
        return isinstance(inspect.getattr_static(type(self._controller), name, None), cached_property)

    def _told(self, variable: Variable) -> str:
        scope, owner, name = variable
        if scope == "module":
            module = next(each for each in self._modules if each.__name__ == owner)
            return (
                f"{Path(module.__file__ or owner).name}: the reconcile changes the global variable {name}; make it an "
                f"attribute of the controller and name it in `memory`: {self._memory_with(name.lower())}"
            )
        file = Path(inspect.getfile(type(self._controller))).name
        if scope == "class":
            return (
                f"{file}: the reconcile changes {owner}.{name}, which all instances share; change self.{name} and name "
                f"it in `memory`: {self._memory_with(name)}"
            )
        return (
            f"{file}: the reconcile changes self.{name}, which is not in `memory`; name it there: "
            f"{self._memory_with(name)}"
        )

    def _memory_with(self, name: str) -> str:
        names = [f'"{each}"' for each in (*self._controller.memory, name)]
        return f"memory = ({', '.join(names)}{',' * (len(names) == 1)})"


def _modules_of(classes: list[type[Controller]], code: UserCode) -> list[ModuleType]:
    """The modules of some classes, and those of the user's that they import as modules."""
    names = dict.fromkeys(each.__module__ for each in classes)
    found = [sys.modules[name] for name in names if name in sys.modules]
    for module in tuple(found):
        for value in vars(module).values():
            file = getattr(value, "__file__", None) if isinstance(value, ModuleType) else None
            if file and value not in found and code.has(file):
                found.append(value)
    return found


def _fingerprint(value: Any) -> bytes | None:
    """Bytes that change when plain data changes; None for all else."""
    kind = type(value)
    if kind in _DICTS:
        value = dict(value)
    elif kind is deque:
        value = list(value)
    elif kind not in _PLAIN:
        return None
    try:
        # Version 2 writes the same value as the same bytes, whoever else refers to it, and refuses what is not plain.
        return marshal.dumps(value, 2)
    except ValueError:
        return None
