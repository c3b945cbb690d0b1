"""Controllers: what users write, and which events make them run.

A controller is level-triggered, as in controller-runtime: an event only says *which* object to look at, never what
happened. :func:`requests_for` turns an event into requests: for the controller's own kind the object itself, for a kind
it ``owns`` the controlling owner, for a kind it ``watches`` whatever its mapping function says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kontend.kube.json_types import Object
from kontend.kube.meta.names import BadName, Key, parse_kind, split_api_version
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api, as_key
from kontend.runtime.indexes import Indexer
from kontend.runtime.predicates import Event, Predicate

__all__ = ["BadController", "Controller", "Indexer", "Mapper", "Request", "Result", "check", "requests_for"]

#: From an object of a watched kind to the requests it is about. The cache may be asked for other objects.
Mapper = Callable[[Object, Cache], Iterable[Key | str]]


class BadController(TypeError):
    """A controller that cannot run as it is written; the message says what is missing."""


class Request(Key):
    """Which object to reconcile: ``request.namespace`` and ``request.name``. It is a key and can be used as one.

    >>> str(Request("default", "web"))
    'default/web'
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What to do after a reconcile that did not fail: by default nothing until the next event."""

    #: Run again soon, with the backoff of a failure.
    requeue: bool = False
    #: Run again after so many seconds.
    requeue_after: float | None = None

    def __post_init__(self) -> None:
        after = self.requeue_after
        if after is not None and (isinstance(after, bool) or not isinstance(after, (int, float)) or after < 0):
            raise BadController(f"requeue_after: expected seconds, not negative, found {after!r}")


class Controller:
    """Keeps objects of one kind as they should be. Subclass it and write ``reconcile``.

    What a reconcile does may depend on the request, on what it reads through ``api``, on ``api.now()`` and
    ``api.uuid()``, and on the attributes named in ``memory``; on nothing else.
    """

    #: The kind that is reconciled, such as ``Widget.example.com/v1``.
    kind: ClassVar[str] = ""
    #: Kinds of children: a change of one reconciles the object that controls it.
    owns: ClassVar[Sequence[str]] = ()
    #: Other kinds, each with a function from an object (and the cache) to the requests it is about.
    watches: ClassVar[Mapping[str, Mapper]] = {}
    #: Which events count, by kind; all of them where nothing is said.
    predicates: ClassVar[Mapping[str, Predicate]] = {}
    #: Indexes of the cache: by kind and name, a function from an object to the values it is found under.
    indexes: ClassVar[Mapping[str, Mapping[str, Indexer]]] = {}
    #: How many different objects may be reconciled at once.
    max_concurrent: ClassVar[int] = 1
    #: Attributes that a reconcile may read and write from one run to the next.
    memory: ClassVar[Sequence[str]] = ()
    #: The name in logs and metrics, and the field manager of its writes; the class name unless given.
    name: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__.lower()

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Make the world more like what the object says. May run at any time, any number of times."""
        raise NotImplementedError

    @property
    def kinds(self) -> tuple[str, ...]:
        """All kinds whose events matter, its own first."""
        return tuple(dict.fromkeys((self.kind, *self.owns, *self.watches)))


def check(controller: Controller) -> None:
    """Raise :class:`BadController` for what could only fail later."""
    if not isinstance(controller, Controller):
        hint = "; write Widgets(), not Widgets" if isinstance(controller, type) else ""
        raise BadController(f"expected a Controller, found {controller!r}{hint}")
    name = type(controller).__name__
    if not controller.kind:
        raise BadController(f"{name}: say which kind it reconciles: kind = 'Widget.example.com/v1'")
    if isinstance(controller.owns, str):
        raise BadController(f"{name}.owns: expected a list of kinds, found the text {controller.owns!r}")
    if not isinstance(controller.watches, Mapping):
        raise BadController(f"{name}.watches: expected a dict from kinds to functions, found {controller.watches!r}")
    kinds = [controller.kind, *controller.owns, *controller.watches, *controller.predicates, *controller.indexes]
    for kind in kinds:
        try:
            parse_kind(kind)
        except (BadName, AttributeError, TypeError) as error:
            raise BadController(f"{name}: {error}") from None
    for kind in controller.predicates:
        if kind not in controller.kinds:
            raise BadController(f"{name}.predicates: {kind} is not its kind and neither owned nor watched")
    if not inspect.iscoroutinefunction(controller.reconcile) or type(controller).reconcile is Controller.reconcile:
        raise BadController(f"{name}: write 'async def reconcile(self, request, api)'")
    if isinstance(controller.max_concurrent, bool) or not isinstance(controller.max_concurrent, int):
        raise BadController(f"{name}.max_concurrent: expected a number, found {controller.max_concurrent!r}")
    if controller.max_concurrent < 1:
        raise BadController(f"{name}.max_concurrent: expected at least 1, found {controller.max_concurrent}")
    for field in controller.memory:
        if not hasattr(controller, field):
            raise BadController(f"{name}.memory names {field!r}, which is not an attribute; give it a first value")


def requests_for(controller: Controller, event: Event, cache: Cache, *, namespaced: bool = True) -> list[Request]:
    """What a controller must look at because of an event. ``namespaced`` is about the controller's own kind."""
    predicate = controller.predicates.get(event.kind)
    if predicate is not None and not predicate(event):
        return []
    found: dict[Request, None] = {}
    # The old object counts as well: an owner or a label that was taken away matters to who had it.
    for obj in (event.new, event.old):
        if obj is None:
            continue
        if event.kind == controller.kind:
            metadata = obj.get("metadata") or {}
            found[Request(metadata.get("namespace") or "", metadata.get("name") or "")] = None
        if event.kind in controller.owns:
            owner = _controlling_owner(obj, controller.kind, namespaced=namespaced)
            if owner is not None:
                found[owner] = None
        mapper = controller.watches.get(event.kind)
        if mapper is not None:
            for key in mapper(obj, cache):
                found[Request(*as_key(key))] = None
    return list(found)


def _controlling_owner(obj: Object, kind: str, *, namespaced: bool) -> Request | None:
    metadata = obj.get("metadata") or {}
    wanted = parse_kind(kind)
    for owner in metadata.get("ownerReferences") or ():
        group, _ = split_api_version(str(owner.get("apiVersion") or ""))
        if owner.get("controller") and owner.get("kind") == wanted.kind and group == wanted.group:
            return Request((metadata.get("namespace") or "") if namespaced else "", owner.get("name") or "")
    return None
