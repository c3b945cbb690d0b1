"""The steps of a plan, as users write them.

A task has a command and a query. ``execute`` is the command: it may be called again after a crash, always with the
same ``run.id``, and must then do nothing twice. ``status`` is the query: it says whether the work is done. A task's
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
from kontend.kube.json_types import Object
from kontend.runtime.client.api import Api
from kontend.runtime.writes.scope import StatusScope
from kontend.runtime.writes.snapshot import WrongObject

RUNNING: Final = "Running"
COMPLETE: Final = "Complete"
TaskStatus = Literal["Running", "Complete"]

_TASK_IDS: Final = UUID("5b5c1d4e-7a53-5c0e-9a6e-4c1f0f1d2a70")
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")


class TaskFailed(Exception):
    """The task did not work out. It is tried again, with backoff, as often as its ``max_retries`` says."""


class TerminalError(Exception):
    """The task cannot work out: the plan fails at once."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a task is given: one attempt at one step of one plan."""

    api: Api
    #: The status of the object that has the plan, for functions that write it, such as ``sync_child``.
    scope: StatusScope
    #: Derived from the plan, the place and the type of the task: the same at every attempt, another in another plan.
    id: str
    #: How often the task has failed before.
    retry: int = 0

    @property
    def uuid(self) -> str:
        """The id as a uuid, for those who want one."""
        return str(uuid5(_TASK_IDS, self.id))

    @property
    def obj(self) -> Object:
        """The object that has the plan. What a task changes in its status is stored together with the task's end."""
        return self.scope.obj


class Task:
    """One step of a plan. Subclass it, usually as a frozen dataclass, and write ``execute``, ``status`` or both.

    >>> @dataclass(frozen=True)
    ... class SetImage(Task):
    ...     image: str
    >>> SetImage.type, SetImage("app:2").params()
    ('set-image', {'image': 'app:2'})
    """

    #: The name under which a plan stores the task; made from the class name unless given.
    type: ClassVar[str] = ""
    #: How often it is tried again after it failed.
    max_retries: ClassVar[int] = 0
    #: Seconds between two looks at its status.
    poll: ClassVar[float] = 5.0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "type" not in cls.__dict__:
            cls.type = _CAPITAL.sub("-", cls.__name__).lower()

    async def execute(self, run: Run) -> None:
        """Do it. Idempotent: ``run.id`` tells whether it was done before. Raise to be called again later."""

    async def status(self, run: Run) -> TaskStatus:  # noqa: ARG002 - for those who override it
        """Whether it is done; raise :class:`TaskFailed` if it failed. By default it is done when ``execute`` is."""
        return COMPLETE

    def params(self) -> dict[str, Any]:
        """What must be stored to make this task again."""
        if not dataclasses.is_dataclass(self):
            return {}
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        params: dict[str, Any] = parse_json(canonical(values))[0]  # only JSON can be stored, and this says what is not
        return params


def make_task(types: Mapping[str, type[Task]], name: str, params: Mapping[str, Any]) -> Task:
    """The task that was stored under a type, with these parameters; raises :class:`TerminalError` if there is none."""
    if name not in types:
        known = ", ".join(sorted(types)) or "none"
        raise TerminalError(f"no task of type {name!r} is known here (known: {known})")
    try:
        return types[name](**params)
    except Exception as error:
        raise TerminalError(f"the stored parameters do not fit {types[name].__name__}: {error}") from error


def task_types(tasks: Any) -> dict[str, type[Task]]:
    """Task classes by the name they are stored under."""
    types: dict[str, type[Task]] = {}
    for each in tasks:
        if not isinstance(each, type) or not issubclass(each, Task):
            raise WrongObject(f"tasks: expected Task classes, found {each!r}")
        if types.setdefault(each.type, each) is not each:
            raise WrongObject(f"tasks: {each.__name__} and {types[each.type].__name__} are both of type {each.type!r}")
    return types
