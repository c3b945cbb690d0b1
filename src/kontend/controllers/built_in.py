"""Base classes of the built-in controllers: their field manager, and events of every kind.

In a cluster these controllers are one process, kube-controller-manager, and its name stands in the managedFields of all
that they write. The garbage collector and the namespace controller look at every kind that is served;
:class:`EveryKind` is a table of watches that answers for each of them, also for those that are defined later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Final, Generic, TypeVar

from kontend.kube import kinds
from kontend.kube.meta.names import GroupVersionKind
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Controller, Request, Result

DEFINITIONS: Final = "CustomResourceDefinition.apiextensions.k8s.io/v1"
#: The verbs that a resource needs so that its objects can be found and deleted.
_NEEDED: Final = frozenset({"delete", "list", "watch"})

Answer = TypeVar("Answer")


class BuiltIn(Controller):
    """A controller that writes under the name of the program that it is a part of."""

    manager: ClassVar[str] = "kube-controller-manager"
    runs_in: ClassVar[str] = manager
    # The address of a pod is made from its uid, for example.
    chooses_by_uid: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "runs_in" not in cls.__dict__:
            cls.runs_in = cls.manager

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Reconciles one object."""
        return await self.sync(request, api.acting_as(self.manager))

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Do the work; subclasses write this one."""
        raise NotImplementedError


class EveryKind(Mapping[str, Answer], Generic[Answer]):
    """A mapping that gives the same answer for every kind, and lists none of them."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __getitem__(self, kind: str) -> Answer:
        return self._answer

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class OfEveryKind(BuiltIn):
    """A controller that is about objects of all kinds.

    Without ``only`` that is what Kubernetes serves and what definitions add; ``only`` names the kinds instead, which
    keeps a small exploration small.
    """

    kind = DEFINITIONS

    def __init__(self, *, only: Sequence[str] = (), custom: Sequence[str] = ()) -> None:
        self.only = tuple(only)
        #: Custom kinds whose events are delivered; the process that runs the controller may add to them.
        self.custom = tuple(custom)

    @property
    def kinds(self) -> tuple[str, ...]:
        """All kinds whose events matter."""
        every = self.only or (*builtin_kinds(), *self.custom)
        return tuple(dict.fromkeys((self.kind, *every)))

    async def served_kinds(self, api: Api) -> dict[str, str]:
        """Return the kinds whose objects can be found and deleted, each at one version, with their plurals."""
        known = builtin_kinds()
        if not self.only or any(kind not in known for kind in self.only):
            known = {**known, **custom_kinds(await api.list(DEFINITIONS))}
        return {kind: known[kind] for kind in self.only if kind in known} if self.only else known


@cache
def builtin_kinds() -> dict[str, str]:
    """Return the kinds that Kubernetes serves and whose objects can be deleted, each at its preferred version: their
    plurals.

    Events are not among them: they come and go by themselves.

    >>> builtin_kinds()["Deployment.apps/v1"]
    'deployments'
    """
    plurals: dict[str, str] = {}
    seen = set()
    for info in kinds.resources():
        if info.kind != "Event" and set(info.verbs) >= _NEEDED and (info.group, info.kind) not in seen:
            seen.add((info.group, info.kind))
            plurals[str(GroupVersionKind(info.group, info.version, info.kind))] = info.plural
    return plurals


def custom_kinds(definitions: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the kinds that definitions add, each at the version that is stored: their plurals."""
    plurals = {}
    for definition in definitions:
        spec = definition["spec"]
        served = [version for version in spec["versions"] if version.get("served")]
        chosen = next((version for version in served if version.get("storage")), served[0] if served else None)
        if chosen is not None:
            kind = GroupVersionKind(spec["group"], chosen["name"], spec["names"]["kind"])
            plurals[str(kind)] = spec["names"]["plural"]
    return plurals
