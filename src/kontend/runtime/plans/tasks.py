"""The steps of a plan, as users write them.

A task has a command and a query. ``execute`` is the command: it may be called again after a crash, always with the
same ``run.id``, and must be idempotent. ``status`` is the query: is the work complete? A task's
parameters are the fields of its dataclass; they are stored in the plan as JSON when the plan is made, and never change
after that.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal
from uuid import UUID, uuid5

from kontend.kube.encoding.json_text import canonical, parse_json
from kontend.kube.errors import WrongObject
from kontend.kube.json_types import Object
from kontend.runtime.client.api import Api
from kontend.runtime.writes.scope import StatusScope

RUNNING: Final = "Running"
COMPLETE: Final = "Complete"
#: Progress of a task, as :meth:`Task.status` returns it.
TaskStatus = Literal["Running", "Complete"]

_TASK_IDS: Final = UUID("5b5c1d4e-7a53-5c0e-9a6e-4c1f0f1d2a70")
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")


class TaskFailed(Exception):
    """The task failed. It is tried again, with backoff, up to ``max_retries`` times."""


class TerminalError(Exception):
    """The task can never succeed: the plan fails at once."""


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt at one task of one plan. A task gets it as an argument; see :class:`Task`."""

    api: Api
    #: The status of the object that has the plan, for functions that write it, such as ``sync_child``.
    scope: StatusScope
    #: Derived from the plan, the index and the type of the task: the same at every attempt, another in another plan.
    id: str
    #: The number of attempts that failed.
    retry: int = 0

    @property
    def uuid(self) -> str:
        """The id as a uuid."""
        return str(uuid5(_TASK_IDS, self.id))

    @property
    def obj(self) -> Object:
        """The object that has the plan. Changes of its status are stored in the same patch as the end of the task."""
        return self.scope.obj


class Task:
    """One step of a plan. Subclass it, usually as a frozen dataclass, and write ``execute``, ``status`` or both.

    >>> @dataclass(frozen=True)
    ... class SetImage(Task):
    ...     image: str
    ...     async def execute(self, run):
    ...         run.obj["status"]["image"] = self.image  # stored together with the end of the task
    >>> SetImage.type, SetImage("app:2").params()
    ('set-image', {'image': 'app:2'})
    """

    #: The name under which a plan stores the task; made from the class name unless given.
    type: ClassVar[str] = ""
    #: The number of retries after a failure.
    max_retries: ClassVar[int] = 0
    #: Seconds between two queries of its status.
    poll: ClassVar[float] = 5.0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "type" not in cls.__dict__:
            cls.type = _CAPITAL.sub("-", cls.__name__).lower()

    async def execute(self, run: Run) -> None:
        """Carry out the command. It must be idempotent (``run.id`` identifies it); raise to be called again later."""

    async def status(self, run: Run) -> TaskStatus:  # noqa: ARG002 - for those who override it
        """Query the progress; raise :class:`TaskFailed` if it failed. By default it is complete when ``execute`` is."""
        return COMPLETE

    def params(self) -> dict[str, Any]:
        """Return the parameters to store, from which the task can be made again."""
        if not dataclasses.is_dataclass(self):
            return {}
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        params: dict[str, Any] = parse_json(canonical(values))[0]  # only JSON can be stored; this refuses the rest
        return params


def make_task(types: Mapping[str, type[Task]], name: str, params: Mapping[str, Any]) -> Task:
    """Make the task of a type with stored parameters. Raises :class:`TerminalError` for an unknown type."""
    if name not in types:
        known = ", ".join(sorted(types)) or "none"
        raise TerminalError(f"unknown task type {name!r} (known: {known})")
    try:
        return types[name](**params)
    except Exception as error:
        raise TerminalError(f"the stored parameters do not fit {types[name].__name__}: {error}") from error


def task_types(tasks: Any) -> dict[str, type[Task]]:
    """Return task classes by the type under which they are stored."""
    types: dict[str, type[Task]] = {}
    for cls in tasks:
        if not isinstance(cls, type) or not issubclass(cls, Task):
            raise WrongObject(f"tasks: expected Task classes, found {cls!r}")
        if types.setdefault(cls.type, cls) is not cls:
            raise WrongObject(f"tasks: {cls.__name__} and {types[cls.type].__name__} are both of type {cls.type!r}")
    return types
