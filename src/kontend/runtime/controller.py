"""Controllers, and the events that trigger them.

A controller is level-triggered, as in controller-runtime: an event names the object to reconcile, and never what
happened. :func:`requests_for` maps an event to requests: for the controller's own kind the object itself, for a kind
it ``owns`` the controlling owner, for a kind it ``watches`` the requests that its mapping function returns.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kontend.kube.json_types import Object
from kontend.kube.meta.named import as_key
from kontend.kube.meta.names import BadName, Key, parse_kind, split_api_version
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.indexes import Indexer
from kontend.runtime.predicates import Event, Predicate

__all__ = ["BadController", "Controller", "Indexer", "Mapper", "Request", "Result", "check", "requests_for"]

#: Function from an object of a watched kind to requests. It may read other objects from the cache.
Mapper = Callable[[Object, Cache], Iterable[Key | str]]


class BadController(TypeError):
    """A controller that cannot run as it is written; the message names the mistake."""


class Request(Key):
    """The object to reconcile, by ``namespace`` and ``name``. It is a key and can be used as one.

    >>> str(Request("default", "web"))
    'default/web'
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of a reconcile that succeeded: by default it runs again at the next event.

    >>> Result(requeue_after=30)
    Result(requeue=False, requeue_after=30)
    """

    #: Run again soon, with the backoff of a failure.
    requeue: bool = False
    #: Run again after this many seconds.
    requeue_after: float | None = None

    def __post_init__(self) -> None:
        after = self.requeue_after
        if not isinstance(self.requeue, bool):
            raise BadController(
                f"requeue: expected True or False, found {self.requeue!r}; for seconds write Result(requeue_after=...)"
            )
        # A number that is not finite would be a time at which nothing happens.
        if after is not None and not (_is_number(after) and 0 <= after < math.inf):
            raise BadController(f"requeue_after: expected seconds, not negative, found {after!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Controller:
    """Reconciles the objects of one kind. Subclass it and write ``reconcile``.

    A reconcile may depend on the request, on what it reads through ``api``, on ``api.now()`` and ``api.uuid()``, and on
    the attributes named in ``memory``; on nothing else.

    >>> class Widgets(Controller):
    ...     kind = "Widget.example.com/v1"
    ...     owns = ("Deployment.apps/v1",)
    ...     async def reconcile(self, request, api):
    ...         widget = await api.get(self.kind, request)
    >>> Widgets().name, Widgets().kinds
    ('widgets', ('Widget.example.com/v1', 'Deployment.apps/v1'))
    """

    #: The kind that is reconciled, such as ``Widget.example.com/v1``.
    kind: ClassVar[str] = ""
    #: Kinds of children: a change of one reconciles the object that controls it.
    owns: ClassVar[Sequence[str]] = ()
    #: Other kinds, each with a function from an object (and the cache) to requests.
    watches: ClassVar[Mapping[str, Mapper]] = {}
    #: Predicates that select events, by kind; without one, all events of a kind count.
    predicates: ClassVar[Mapping[str, Predicate]] = {}
    #: Indexes of the cache: by kind and name, a function from an object to its values.
    indexes: ClassVar[Mapping[str, Mapping[str, Indexer]]] = {}
    #: The number of objects that may be reconciled at once.
    max_concurrent: ClassVar[int] = 1
    #: Attributes that a reconcile keeps from one run to the next.
    memory: ClassVar[Sequence[str]] = ()
    #: The process that it is deployed in: the controllers of one process share a cache, and crash together.
    runs_in: ClassVar[str] = "operator"
    #: True if it chooses by uid on purpose, for an address or a spread, so that one choice stands for all.
    chooses_by_uid: ClassVar[bool] = False
    #: The name in logs and metrics, and the field manager of its writes; the class name unless given.
    name: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__.lower()

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Bring the cluster closer to what the object specifies. May run at any time, any number of times."""
        raise NotImplementedError

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds whose events trigger it, its own first."""
        return tuple(dict.fromkeys((self.kind, *self.owns, *self.watches)))

    @property
    def views(self) -> Sequence[str]:
        """The views whose events trigger it, that of its own kind first."""
        return self.kinds

    def _requests_for(self, event: Event, cache: Cache, *, namespaced: bool) -> list[Request]:
        predicate = self.predicates.get(event.kind)
        if predicate is not None and not predicate(event):
            return []
        requests: dict[Request, None] = {}
        # The old object counts as well: a former owner must see that it lost the object.
        for obj in (event.new, event.old):
            if obj is None:
                continue
            if event.kind == self.kind:
                metadata = obj.get("metadata") or {}
                requests[Request(metadata.get("namespace") or "", metadata.get("name") or "")] = None
            if event.kind in self.owns:
                owner = _controlling_owner(obj, self.kind, namespaced=namespaced)
                if owner is not None:
                    requests[owner] = None
            mapper = self.watches.get(event.kind)
            if mapper is not None:
                for key in mapper(obj, cache):
                    requests[Request(*as_key(key))] = None
        return list(requests)


def check(controller: Controller) -> None:
    """Raise :class:`BadController` for a mistake that would only show later."""
    if not isinstance(controller, Controller):
        hint = f"; write {controller.__name__}(), not {controller.__name__}" if isinstance(controller, type) else ""
        raise BadController(f"expected a Controller, found {controller!r}{hint}")
    name = type(controller).__name__
    if not isinstance(controller.name, str) or not controller.name:
        raise BadController(f"{name}.name: expected text, found {controller.name!r}")
    if not controller.kind:
        raise BadController(f"{name}: name the kind that it reconciles: kind = 'Widget.example.com/v1'")
    if isinstance(controller.owns, str):
        raise BadController(f"{name}.owns: expected a list of kinds, found the text {controller.owns!r}")
    if not isinstance(controller.watches, Mapping):
        raise BadController(
            f"{name}.watches: expected a dict from kinds to functions that return requests, such as "
            f"{{'ConfigMap/v1': lambda obj, cache: ['default/name']}}, found {controller.watches!r}"
        )
    for kind, mapper in controller.watches.items():
        if not callable(mapper):
            raise BadController(
                f"{name}.watches[{kind!r}]: expected a function of an object and the cache that returns requests, such "
                f"as lambda obj, cache: ['default/name'], found {mapper!r}"
            )
    for attribute, value in (("predicates", controller.predicates), ("indexes", controller.indexes)):
        if not isinstance(value, Mapping):
            raise BadController(f"{name}.{attribute}: expected a dict by kind, found {value!r}")
    if isinstance(controller.memory, str):
        raise BadController(f"{name}.memory: expected a list of attributes, found the text {controller.memory!r}")
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
    """Return the requests that an event triggers. ``namespaced`` is the scope of the controller's own kind."""
    return controller._requests_for(event, cache, namespaced=namespaced)


def _controlling_owner(obj: Object, kind: str, *, namespaced: bool) -> Request | None:
    metadata = obj.get("metadata") or {}
    wanted = parse_kind(kind)
    for owner in metadata.get("ownerReferences") or ():
        group, _ = split_api_version(str(owner.get("apiVersion") or ""))
        if owner.get("controller") and owner.get("kind") == wanted.kind and group == wanted.group:
            return Request((metadata.get("namespace") or "") if namespaced else "", owner.get("name") or "")
    return None
