"""One child of a parent, tracked by name and uid in the parent's status.

The name locates the child, the uid identifies it. Typical bugs: a child that was just created is deleted because the
parent's status, or a cache, still names its predecessor; a delete by name hits another object; an unrelated object of
the same name is adopted. :func:`sync_child` follows four rules against that.

- It never reads a cache. The steady state is one server-side apply that carries the tracked uid: it can neither create
  an object nor change another one than the tracked child.
- An object that the parent controls (by uid) is its child, whatever the status says: it is tracked again, not deleted.
- Before it creates, adopts or deletes, it reads the parent from the server. If that is not the version in hand, the
  parent is stale and nothing is done. Deletes and adoptions carry uid and version of the object that was read.
- Each effect is stored in the parent's status, locked, before the next one.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from kontend.kube.errors import ApiError, Conflict, Invalid, NotFound, WrongObject
from kontend.kube.json_types import Object
from kontend.kube.meta.accessors import controller_of, is_controlled_by
from kontend.kube.meta.names import key_of, kind_of
from kontend.kube.schema.pruning import copy_json
from kontend.runtime.client.api import Api
from kontend.runtime.controller import Result
from kontend.runtime.writes.owners import set_controller_reference
from kontend.runtime.writes.scope import StatusScope, scope_of

Impostor = Literal["replace", "adopt", "refuse"]
Action = Literal[
    "created",  # there was no child
    "recreated",  # the tracked child was gone
    "adopted",  # it existed without a controller
    "tracked",  # the parent controlled it, but did not track it
    "applied",  # the tracked child is as desired
    "replacing",  # an impostor was deleted: call again
    "removing",  # the child was deleted: call again
    "terminating",  # the child is being deleted: call again
    "removed",  # the child is gone
    "released",  # the child exists, but the parent no longer controls it
    "skipped",  # the parent is being deleted
]

_IN_A_MOMENT = 1.0
_LATER = 5.0


class ForeignChild(Exception):
    """An object of the child's name belongs to another controller, or is not the tracked child."""

    def __init__(self, child: Object) -> None:
        #: The object of that name.
        self.child = child
        #: The reference to its controller, if it has one.
        self.controller = controller_of(child)
        owner = self.controller
        reason = "not the tracked child"
        if owner is not None:
            reason = f"controlled by {owner.get('kind')} {owner.get('name')!r} (uid {owner.get('uid')})"
        super().__init__(f"{kind_of(child)} {key_of(child)} is {reason} and was not changed")


@dataclass(frozen=True, slots=True)
class ChildOutcome:
    """Result of :func:`sync_child` and :func:`remove_child`.

    >>> ChildOutcome("removing").settled, ChildOutcome("removing").result
    (False, Result(requeue=False, requeue_after=1.0))
    """

    action: Action
    #: The child as the server returned it, if there is one.
    child: Object | None = None

    @property
    def settled(self) -> bool:
        """True if the child is as desired; otherwise sync again when ``result`` says."""
        return self.action in ("created", "recreated", "adopted", "tracked", "applied")

    @property
    def observed(self) -> bool:
        """True if the child's own controller has observed the generation that was last applied."""
        if not self.settled or self.child is None:
            return False
        seen = (self.child.get("status") or {}).get("observedGeneration")
        return isinstance(seen, int) and seen >= self.child["metadata"].get("generation", 0)

    @property
    def result(self) -> Result | None:
        """The result for a reconcile to return: it runs again if something is left to do."""
        if self.action in ("replacing", "removing"):
            return Result(requeue_after=_IN_A_MOMENT)
        return Result(requeue_after=_LATER) if self.action == "terminating" else None


async def sync_child(
    api: Api,
    parent: Object | StatusScope,
    desired: Object,
    *,
    field: str = "child",
    paused: bool = False,
    impostor: Impostor = "replace",
) -> ChildOutcome:
    """Bring the child of ``parent`` to ``desired``, and track its name and uid at ``field`` of the parent's status.

    ``desired`` holds only the fields that the parent sets; defaults and fields of others stay. ``paused`` sets the
    replicas to 0, and back to those of ``desired``. An ``impostor`` has the child's name, another uid than the tracked
    one and no controller: it is replaced (deleted now, created by the next call), adopted or refused. Raises
    :class:`ForeignChild` for an object of another controller and :class:`StaleObject` when the parent was stale.

    >>> from kontend import Cluster, Controller
    >>> from kontend.testing import settle
    >>> class Widgets(Controller):
    ...     kind = "Widget.example.com/v1"
    ...     owns = ("ConfigMap/v1",)
    ...     async def reconcile(self, request, api):
    ...         widget = await api.get(self.kind, request)
    ...         config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}}
    ...         outcome = await sync_child(api, widget, config, field="config")
    ...         return outcome.result
    >>> schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    >>> v1 = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": schema}
    >>> names = {"plural": "widgets", "kind": "Widget"}
    >>> crd = {
    ...     "apiVersion": "apiextensions.k8s.io/v1",
    ...     "kind": "CustomResourceDefinition",
    ...     "metadata": {"name": "widgets.example.com"},
    ...     "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [v1]},
    ... }
    >>> widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    >>> cluster = Cluster(crds=[crd], objects=[widget])
    >>> settle(cluster, Widgets())
    2
    >>> child = cluster.get("ConfigMap/v1", "config")["metadata"]
    >>> cluster.get("Widget.example.com/v1", "w")["status"]["config"] == {"name": "config", "uid": child["uid"]}
    True
    """
    scope = scope_of(api, parent)
    wanted = _wanted(api, scope.obj, desired, paused)
    if impostor not in ("replace", "adopt", "refuse"):
        raise WrongObject(f"sync_child: impostor: expected 'replace', 'adopt' or 'refuse', found {impostor!r}")
    if scope.obj["metadata"].get("deletionTimestamp"):
        return ChildOutcome("skipped")
    tracked = _tracked(scope, field)
    if tracked is not None and tracked.name != wanted["metadata"]["name"]:
        former = await _remove(api, scope, _named(wanted, tracked.name), field, tracked, None)
        if former.action not in ("removed", "released"):
            return former
        tracked = None
    if tracked is None:
        live = await _find(api, wanted)
    else:
        try:
            return _applied("applied", await _apply(api, wanted, uid=tracked.uid))
        except (Conflict, Invalid) as refused:
            # No object of that uid, or another reason: read the object to find out.
            live = await _find(api, wanted)
            if live is not None and live["metadata"]["uid"] == tracked.uid:
                raise _reason(live, scope.obj, refused) from refused
    if live is None:
        await scope.check_fresh()
        child = await _apply(api, wanted)
        await _track(scope, field, child)
        return ChildOutcome("created" if tracked is None else "recreated", child)
    if live["metadata"].get("deletionTimestamp"):
        return ChildOutcome("terminating", live)
    if is_controlled_by(live, scope.obj):
        # With the version, too: another instance may have applied something else since.
        child = await _apply(api, wanted, uid=live["metadata"]["uid"], version=live["metadata"]["resourceVersion"])
        await _track(scope, field, child)
        return _applied("tracked", child)
    if controller_of(live) is not None or (tracked is not None and impostor == "refuse"):
        raise ForeignChild(live)
    await scope.check_fresh()
    if tracked is not None and impostor == "replace":
        await _delete(api, live, None)
        await scope.store(field, None)
        return ChildOutcome("replacing")
    child = await _apply(api, wanted, uid=live["metadata"]["uid"], version=live["metadata"]["resourceVersion"])
    await _track(scope, field, child)
    return _applied("adopted", child)


async def remove_child(
    api: Api,
    parent: Object | StatusScope,
    child: Object,
    *,
    field: str = "child",
    propagation: str | None = None,
) -> ChildOutcome:
    """Delete the child of ``parent``, and stop tracking it once it is gone; ``child`` needs apiVersion, kind and name.

    Only an object that the parent controls is deleted, tracked or not, by the uid and version that were read. A child
    that the parent no longer controls is released: it stays, and is not tracked any more.

    >>> from kontend import Cluster, Controller
    >>> from kontend.testing import settle
    >>> class Deployments(Controller):
    ...     kind = "Deployment.apps/v1"
    ...     async def reconcile(self, request, api):
    ...         deployment = await api.get(self.kind, request)
    ...         config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}}
    ...         outcome = await remove_child(api, deployment, config, field="config")
    ...         print(outcome.action)
    ...         return outcome.result  # it runs again if the child is not gone yet
    >>> template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    >>> spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    >>> web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    >>> settle(Cluster(objects=[web]), Deployments())
    removed
    1
    """
    scope = scope_of(api, parent)
    tracked = _tracked(scope, field)
    named = _named(_addressed(api, scope.obj, child, "remove_child"), tracked.name if tracked else None)
    return await _remove(api, scope, named, field, tracked, propagation)


@dataclass(frozen=True, slots=True)
class _Tracked:
    name: str
    uid: str


async def _remove(
    api: Api, scope: StatusScope, named: Object, field: str, tracked: _Tracked | None, propagation: str | None
) -> ChildOutcome:
    live = await _find(api, named)
    if live is None or not is_controlled_by(live, scope.obj):
        if tracked is not None:
            await scope.store(field, None)
        return ChildOutcome("removed") if live is None else ChildOutcome("released", live)
    if live["metadata"].get("deletionTimestamp"):
        return ChildOutcome("terminating", live)
    await scope.check_fresh()
    await _delete(api, live, propagation)
    return ChildOutcome("removing")


async def _delete(api: Api, live: Object, propagation: str | None) -> None:
    uid, version = live["metadata"]["uid"], live["metadata"]["resourceVersion"]
    with suppress(NotFound):  # it is gone already
        await api.delete(live, uid=uid, resource_version=version, propagation=propagation)


async def _apply(api: Api, wanted: Object, *, uid: str = "", version: str = "") -> Object:
    child: Object = {**wanted, "metadata": dict(wanted["metadata"])}
    if uid:
        child["metadata"]["uid"] = uid
    if version:
        child["metadata"]["resourceVersion"] = version
    await api.apply(child)
    return child


def _applied(action: Action, child: Object) -> ChildOutcome:
    return ChildOutcome("terminating" if child["metadata"].get("deletionTimestamp") else action, child)


async def _find(api: Api, wanted: Object) -> Object | None:
    try:
        return await api.live.get(str(kind_of(wanted)), key_of(wanted))
    except NotFound:
        return None


async def _track(scope: StatusScope, field: str, child: Object) -> None:
    metadata = child["metadata"]
    await scope.store(field, {"name": metadata["name"], "uid": metadata["uid"]})


def _tracked(scope: StatusScope, field: str) -> _Tracked | None:
    if not isinstance(field, str) or not all(field.split(".")):
        raise WrongObject(f"field: expected a path below the status such as 'child' or 'children.web', found {field!r}")
    value = scope.get(field)
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in ("name", "uid")):
        raise WrongObject(f"status.{field}: expected the name and uid of a child, found {value!r}")
    return _Tracked(value["name"], value["uid"]) if value["uid"] else None


def _reason(live: Object, parent: Object, refused: ApiError) -> Exception:
    """Return the error for a tracked child that the server refused: it has another controller, or the server's own."""
    if controller_of(live) is not None and not is_controlled_by(live, parent):
        return ForeignChild(live)
    return refused


def _wanted(api: Api, parent: Object, desired: Any, paused: bool) -> Object:
    """Return the object to apply: ``desired``, controlled by the parent, without replicas when paused."""
    wanted = _addressed(api, parent, desired, "sync_child")
    for key in ("uid", "resourceVersion", "managedFields"):
        if key in wanted["metadata"]:
            raise WrongObject(
                f"sync_child: desired has metadata.{key}; pass the fields that the parent sets, not an object that "
                "was read"
            )
    set_controller_reference(parent, wanted)
    if paused:
        if not isinstance(wanted.get("spec"), dict) or "replicas" not in wanted["spec"]:
            raise WrongObject("sync_child: to be paused and to come back, desired must have spec.replicas")
        wanted["spec"]["replicas"] = 0
    return wanted


def _addressed(api: Api, parent: Object, child: Any, caller: str) -> Object:
    """Return a copy of a child in the parent's namespace; refuse one without a name or a kind."""
    metadata = child.get("metadata") if isinstance(child, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise WrongObject(f"{caller}: expected a child with apiVersion, kind and metadata.name, found {child!r}")
    if not child.get("apiVersion") or not child.get("kind"):
        raise WrongObject(f"{caller}: the child {metadata['name']!r} has no apiVersion or kind")
    addressed: Object = copy_json(child)
    if api.is_namespaced(str(kind_of(child))):
        namespace = (parent.get("metadata") or {}).get("namespace")
        addressed["metadata"].setdefault("namespace", namespace or "default")
    return addressed


def _named(child: Object, name: str | None) -> Object:
    metadata = {"name": name or child["metadata"]["name"]}
    if "namespace" in child["metadata"]:
        metadata["namespace"] = child["metadata"]["namespace"]
    return {"apiVersion": child["apiVersion"], "kind": child["kind"], "metadata": metadata}
