"""A reconcile with one status write.

:class:`StatusScope` takes a snapshot of the object once, lets the reconcile change the status in memory, and sends all
changes as one locked patch at the end, also when the reconcile returns early or raises. Changes that must be stored
before the next side effect (a tracked child, a plan) are flushed earlier through the same scope, which continues from
the response: the lock never names a version that the reconcile itself has replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from kontend.kube.errors import ApiError, Conflict, NotFound, WrongObject
from kontend.kube.json_types import Object
from kontend.kube.meta.names import key_of, kind_of
from kontend.kube.patches.merge_patch import apply_merge_patch
from kontend.kube.schema.pruning import copy_json
from kontend.runtime.client.api import Api
from kontend.runtime.writes.conditions import ConditionStatus, set_condition
from kontend.runtime.writes.snapshot import Snapshot

_CALLER = "StatusScope"


class NotStored(ApiError):
    """The server did not keep a status field: the schema of the kind does not have it."""


class StaleObject(Conflict):
    """The object has changed since it was read, so nothing was done. Read it again."""


class StatusScope:
    """The status of one object during one reconcile: ``async with StatusScope(api, obj) as scope``.

    Inside, change ``obj["status"]`` (or ``scope.status``, the same dict) and nothing else of ``obj``. Functions that
    write the object (:func:`mutate_object`, :func:`sync_child`, :func:`execute` ...) take the scope in the
    object's place. A write of ``obj`` past the scope would discard the changes in memory; it is an
    error.

    >>> from kontend import Cluster, Controller
    >>> from kontend.testing import settle
    >>> class Reports(Controller):
    ...     kind = "Deployment.apps/v1"
    ...     async def reconcile(self, request, api):
    ...         deployment = await api.get(self.kind, request)
    ...         async with StatusScope(api, deployment) as scope:
    ...             scope.status["replicas"] = 3
    ...             scope.set_condition("Audited", True, "NothingFound")
    >>> template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    >>> spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    >>> web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    >>> cluster = Cluster(objects=[web])
    >>> settle(cluster, Reports())
    2
    >>> sorted(cluster.get("Deployment.apps/v1", "web")["status"])
    ['conditions', 'replicas']
    """

    def __init__(self, api: Api, obj: Object) -> None:
        self.api = api
        self.obj = obj
        self._base = Snapshot.of(obj, _CALLER)
        #: The generation that was read: the newest one that this reconcile has observed.
        self.generation = self._base.generation

    @property
    def status(self) -> dict[str, Any]:
        """The status, to be changed in place."""
        if self.obj.get("status") is None:
            self.obj["status"] = {}
        status: dict[str, Any] = self.obj["status"]
        return status

    @property
    def version(self) -> str:
        """The resourceVersion that the next patch is locked to."""
        return self._base.version

    def set_condition(self, type: str, status: ConditionStatus, reason: str, message: str = "") -> bool:
        """Set a condition for the generation that was read. Returns False if that changes nothing."""
        now = self.api.now()
        return set_condition(self.obj, type, status, reason, message, now=now, observed_generation=self.generation or 0)

    def get(self, path: str) -> Any:
        """Return the value at a dotted path below the status, or None."""
        value: Any = self.obj.get("status")
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value

    def put(self, path: str, value: Any) -> None:
        """Set the value at a dotted path below the status in memory; None removes it."""
        *parents, last = path.split(".")
        parent = self.status
        for part in parents:
            below = parent.get(part)
            if below is None:
                if value is None:
                    return
                below = parent[part] = {}
            if not isinstance(below, dict):
                raise WrongObject(f"{_CALLER}: cannot set status.{path}: status.{part} is {below!r}, not an object")
            parent = below
        if value is None:
            parent.pop(last, None)
        else:
            parent[last] = value

    async def store(self, path: str, value: Any) -> None:
        """Set a value and flush, so that it is stored before the next side effect. Raises :class:`NotStored`."""
        self.put(path, value)
        wanted = copy_json(value)
        await self.flush()
        lost = _lost(wanted, self.get(path), f"status.{path}")
        if lost:
            kind = kind_of(self.obj)
            raise NotStored(
                f"the server did not keep {lost}: the schema of {kind} has no such field; "
                "add it, or set x-kubernetes-preserve-unknown-fields there"
            )

    async def flush(self) -> bool:
        """Send the changes since the object was read or last flushed. Returns False if there are none.

        On an error the object is restored to what was read or last flushed.
        """
        try:
            self._check_version()
            status = self._base.status_changes(self.obj, _CALLER)
            if status == {}:
                return False
            await self.api.status.patch(self.obj, self._base.patch({"status": status}, lock=True))
        except BaseException:
            self._base.restore(self.obj)
            raise
        self._base = Snapshot(self.obj)
        return True

    async def check_fresh(self) -> None:
        """Raise :class:`StaleObject` unless the server has the version in hand."""
        kind, key = kind_of(self.obj), key_of(self.obj)
        try:
            version = (await self.api.live.get(str(kind), key))["metadata"]["resourceVersion"]
        except NotFound:
            version = "gone"
        if version != self.version:
            raise StaleObject(f"{kind} {key} is {version} on the server, not {self.version}: nothing was done for it")

    def unsaved(self) -> Any:
        """Return the changes of the status that are not flushed, as a merge patch; ``{}`` for none."""
        self._check_version()
        return self._base.status_changes(self.obj, _CALLER)

    def rebase(self, unsaved: Any) -> None:
        """Continue from the response to a locked write of the object, and apply ``unsaved`` again."""
        self._base = Snapshot(self.obj)
        if isinstance(unsaved, dict):
            self.obj["status"] = apply_merge_patch(self.status, copy_json(unsaved))
        else:
            self.obj.pop("status", None)

    async def __aenter__(self) -> StatusScope:
        self.obj["status"] = self.status
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A reconcile that is cancelled or closed has been abandoned: it must send nothing and await nothing.
        if error is not None and not isinstance(error, Exception):
            return
        try:
            await self.flush()
        except Exception as failure:
            if error is None:
                raise
            error.add_note(f"The status could not be written either: {type(failure).__name__}: {failure}")

    def _check_version(self) -> None:
        metadata = self.obj.get("metadata")
        version = metadata.get("resourceVersion") if isinstance(metadata, Mapping) else None
        if version != self._base.version:
            raise WrongObject(
                f"{_CALLER}: the object was written inside the scope but not through it (its resourceVersion went from "
                f"{self._base.version} to {version}), which discarded the changes of the status; write it before the "
                "scope, or pass the scope in its place: mutate_object(api, scope, ...)"
            )


def scope_of(api: Api, target: Object | StatusScope) -> StatusScope:
    """Return the scope itself, or a new one for an object."""
    return target if isinstance(target, StatusScope) else StatusScope(api, target)


def _lost(wanted: Any, stored: Any, path: str) -> str:
    """Return the first path at which ``stored`` lacks a wanted value, or an empty string."""
    if isinstance(wanted, dict):
        if not isinstance(stored, dict):
            return path
        return next(filter(None, (_lost(value, stored.get(key), f"{path}.{key}") for key, value in wanted.items())), "")
    if isinstance(wanted, list):
        if not isinstance(stored, list) or len(stored) != len(wanted):
            return path
        pairs = enumerate(zip(wanted, stored, strict=True))
        return next(filter(None, (_lost(value, kept, f"{path}[{index}]") for index, (value, kept) in pairs)), "")
    return "" if wanted == stored else path
