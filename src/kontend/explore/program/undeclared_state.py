"""State that a reconcile keeps from one run to the next without declaring it.

Attributes that ``memory`` does not name, attributes of classes and global variables are not part of a state of the
model, so a reconcile that changes them behaves differently for a reason that the explorer cannot see. Their values are
compared from before a run to after it: plain data, and the attributes of objects whose classes are the user's own.
Objects of libraries (clients, loggers, metrics) are not looked into. The caches of functools are cleared before the run
that is compared, so that one that holds something outdated shows.
"""

from __future__ import annotations

import inspect
import marshal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from operator import is_
from pathlib import Path
from types import FunctionType, ModuleType, NoneType
from typing import Any, Final

import xxhash

from kontend.explore.program.foreign import ForeignController
from kontend.explore.program.user_code import UserCode
from kontend.runtime.controller import Controller

_SCALARS: Final = frozenset({bool, bytes, bytearray, complex, float, int, str, NoneType})
#: Plain data that cannot change: it is compared as it is.
_IMMUTABLE: Final = _SCALARS - {bytearray}
#: Plain data that can.
_PLAIN: Final = frozenset({dict, list, tuple, set, frozenset})
#: Objects that are never looked into.
_OPAQUE: Final = frozenset({FunctionType, ModuleType, type})
#: A value with more parts than this is not compared: it is data, and comparing it would cost too much.
_LARGEST: Final = 5_000
#: A format without references, so that it says nothing of what else refers to a value.
_MARSHAL_VERSION: Final = 2
_ABSENT: Final = b""

#: The owner of a variable (self, a class or a module), and its name.
Variable = tuple[str, str, str]
#: Equal as long as a value does not change; None for one that is not compared.
Fingerprint = bytes | tuple[type, object] | None


class _Scope:
    """The variables of one owner."""

    def __init__(
        self, scope: str, owner: str, variables: Mapping[str, Any], is_left_out: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._owner = (scope, owner)
        self._variables = variables
        self._is_left_out = is_left_out
        #: The names and values that there were the last time.
        self._names: list[str] = []
        self._values: list[Any] = []
        #: The fingerprints of values that cannot change or are not compared, and the other variables.
        self._constant: dict[Variable, Fingerprint] = {}
        self._changeable: list[tuple[Variable, Any]] = []

    def add_to(self, fingerprints: dict[Variable, Fingerprint], code: UserCode) -> None:
        """Add a fingerprint of each variable."""
        names, values = list(self._variables), list(self._variables.values())
        if names != self._names or not all(map(is_, values, self._values)):
            self._names, self._values = names, values
            self._divide(code)
        fingerprints.update(self._constant)
        for variable, value in self._changeable:
            fingerprints[variable] = _fingerprint(value, code)

    def compared(self) -> Iterator[tuple[Variable, Any]]:
        """The variables that are compared, and their values."""
        for name, value in tuple(self._variables.items()):
            if not name.startswith("__") and not self._is_left_out(name):
                yield (*self._owner, name), value

    def _divide(self, code: UserCode) -> None:
        self._constant, self._changeable = {}, []
        for variable, value in self.compared():
            fingerprint = _fingerprint(value, code)
            if fingerprint is None or type(value) in _IMMUTABLE:
                self._constant[variable] = fingerprint
            else:
                self._changeable.append((variable, value))


class UndeclaredState:
    """The variables within reach of a controller that are not its declared memory."""

    def __init__(self, controller: Controller, code: UserCode) -> None:
        self._controller = controller
        self._code = code
        self._classes = [
            cls for cls in type(controller).__mro__ if cls is not Controller and issubclass(cls, Controller)
        ]
        if isinstance(controller, ForeignController):  # its variables are in another process
            self._classes = []
        self._modules = _modules_of(self._classes, code)
        self._scopes = self._all_scopes()
        self._caches = list(self._functools_caches())

    def clear_caches(self) -> None:
        """Clear the caches of functools that the user's functions have."""
        for clear in self._caches:
            clear()

    def values(self) -> dict[Variable, Fingerprint]:
        """A fingerprint of each variable."""
        fingerprints: dict[Variable, Fingerprint] = {}
        for scope in self._scopes:
            scope.add_to(fingerprints, self._code)
        return fingerprints

    def opaque_types(self) -> set[type]:
        """The types of the objects that are not looked into, wherever they are."""
        text = _Text(self._code)
        for scope in self._scopes:
            for _, value in scope.compared():
                with suppress(_TooLarge):
                    text.of(value)
        return text.opaque

    def is_hidden_in_closures(self) -> bool:
        """A function keeps something in its closure that may change, where nothing is compared."""
        return any(_hides_state(value, set()) for scope in self._scopes for _, value in scope.compared())

    def changed(self, before: Mapping[Variable, Fingerprint]) -> list[str]:
        """Describes each variable that changed since, and what to do about it."""
        after = self.values()
        return [
            self._described(variable)
            for variable in sorted({*before, *after})
            if (old := before.get(variable, _ABSENT)) != (new := after.get(variable, _ABSENT))
            # From or to an object of a library: a client that was made when it was first needed, say.
            and old is not None
            and new is not None
        ]

    def _all_scopes(self) -> list[_Scope]:
        memory = frozenset(self._controller.memory)
        is_foreign = isinstance(self._controller, ForeignController)
        own: dict[str, Any] = {} if is_foreign else getattr(self._controller, "__dict__", {})
        scopes = [_Scope("self", "", own, lambda name: name in memory or self._is_cached(name))]
        scopes += [_Scope("class", cls.__qualname__, vars(cls), memory.__contains__) for cls in self._classes]
        return scopes + [_Scope("module", module.__name__, vars(module)) for module in self._modules]

    def _functools_caches(self) -> Iterator[Callable[[], None]]:
        scopes: list[Mapping[str, Any]] = [vars(cls) for cls in self._classes]
        scopes += [vars(module) for module in self._modules]
        for scope in scopes:
            for value in tuple(scope.values()):
                function = getattr(value, "__func__", value)
                wrapped = getattr(function, "__wrapped__", None)
                clear = getattr(function, "cache_clear", None)
                if callable(clear) and wrapped is not None and self._code.has(_file_of(wrapped)):
                    yield clear

    def _is_cached(self, name: str) -> bool:
        return isinstance(inspect.getattr_static(type(self._controller), name, None), cached_property)

    def _described(self, variable: Variable) -> str:
        scope, owner, name = variable
        if scope == "module":
            return (
                f"{_place(owner)}: the reconcile changes the global variable {name}; make it an "
                f"attribute of the controller and name it in `memory`: {self._memory_with(name.lower())}"
            )
        file = _place(type(self._controller).__module__)
        if scope == "class":
            return (
                f"{file}: the reconcile changes {owner}.{name}, which all instances share; change self.{name} and name "
                f"it in `memory`: {self._memory_with(name)}"
            )
        return (
            f"{file}: the reconcile changes self.{name}, which is not in `memory`; name it there, as plain data: "
            f"{self._memory_with(name)}. If it stands for something outside of the cluster, which a crash does not "
            "reset, keep its state in objects: kontend help explore, 'Outside of the cluster'"
        )

    def _memory_with(self, name: str) -> str:
        names = [f'"{attribute}"' for attribute in (*self._controller.memory, name)]
        return f"memory = ({', '.join(names)}{',' * (len(names) == 1)})"


def _modules_of(classes: list[type[Controller]], code: UserCode) -> list[ModuleType]:
    """The modules of some classes, and the user's modules that they import as modules."""
    names = dict.fromkeys(cls.__module__ for cls in classes)
    modules = [sys.modules[name] for name in names if name in sys.modules]
    for module in tuple(modules):
        for value in vars(module).values():
            file = getattr(value, "__file__", None) if isinstance(value, ModuleType) else None
            if file and value not in modules and code.has(file):
                modules.append(value)
    return modules


def _place(module: str) -> str:
    """The name of the file of a module; that of the module where it has no file."""
    return Path(getattr(sys.modules.get(module), "__file__", None) or module).name


def _file_of(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return getattr(code, "co_filename", "<unknown>")


def _hides_state(value: Any, seen: set[int]) -> bool:
    """The closure of a function has something in it that may change. Controllers are compared by themselves."""
    if not isinstance(value, FunctionType) or id(value) in seen:
        return False
    seen.add(id(value))
    for cell in value.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:  # it is empty
            continue
        if isinstance(content, FunctionType):
            if _hides_state(content, seen):
                return True
        elif type(content) not in _IMMUTABLE and not isinstance(content, (type, ModuleType, Controller)):
            return True
    return False


class _TooLarge(Exception):
    """A value with too many parts."""


def _fingerprint(value: Any, code: UserCode) -> Fingerprint:
    """The fingerprint of a variable."""
    kind = type(value)
    if kind in _IMMUTABLE:
        return kind, value
    if kind in _OPAQUE:
        return None
    if kind in _PLAIN:
        try:
            text = marshal.dumps(value, _MARSHAL_VERSION)
        except ValueError:  # something in it is not plain
            pass
        else:
            if len(text) <= _LARGEST:  # every part has at least one byte
                return text
    try:
        return _Text(code).of(value)
    except _TooLarge:
        return None


class _Text:
    """Bytes that change when a value changes."""

    def __init__(self, code: UserCode) -> None:
        self._code = code
        self._parts = 0
        self._open: set[int] = set()
        #: The types of the objects that are not looked into.
        self.opaque: set[type] = set()

    def of(self, value: Any) -> bytes | None:
        """The fingerprint of a variable; None for an object that is not looked into."""
        self._parts = 0
        if type(value) in _SCALARS or self._is_container(value) or self._is_users(value):
            return xxhash.xxh3_128_digest(self._text(value))
        self.opaque.add(type(value))
        return None

    def _text(self, value: Any) -> bytes:
        self._parts += 1
        if self._parts > _LARGEST:
            raise _TooLarge
        kind = type(value)
        if kind in _SCALARS:
            return f"{kind.__name__}:{value!r}".encode()
        if id(value) in self._open:
            return b"recursive"
        self._open.add(id(value))
        try:
            if isinstance(value, Mapping) and self._is_container(value):
                return b"{%s}" % b",".join(self._text(key) + b"=" + self._text(value[key]) for key in value)
            if isinstance(value, (set, frozenset)):
                return b"<%s>" % b",".join(sorted(self._text(item) for item in value))
            if isinstance(value, (list, tuple, deque)):
                return b"[%s]" % b",".join(self._text(item) for item in value)
            if self._is_users(value):
                return kind.__qualname__.encode() + self._text(_attributes(value))
        finally:
            self._open.discard(id(value))
        self.opaque.add(kind)
        return b"object"

    @staticmethod
    def _is_container(value: Any) -> bool:
        return isinstance(value, (dict, list, tuple, set, frozenset, deque))

    def _is_users(self, value: Any) -> bool:
        """The class of an object is the user's own."""
        kind = type(value)
        if isinstance(value, (type, ModuleType)) or (callable(value) and not hasattr(value, "__dict__")):
            return False
        module = sys.modules.get(kind.__module__)
        file = getattr(module, "__file__", None)
        return file is not None and self._code.has(file) and not isinstance(value, Controller)


def _attributes(value: Any) -> dict[str, Any]:
    attributes = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                attributes[name] = getattr(value, name)
    return attributes
