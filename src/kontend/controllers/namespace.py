"""The namespace controller: a namespace that is deleted goes when nothing is left in it.

It deletes all objects of every kind (pods before all else), says in conditions what still remains and why, and takes
the finalizer ``kubernetes`` off the namespace once there is nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from kontend.cluster.times import seconds
from kontend.controllers.built_in import EveryKind, OfEveryKind
from kontend.kube.errors import ApiError, MethodNotAllowed, NotFound
from kontend.kube.meta.accessors import finalizers_of, is_deleting
from kontend.kube.meta.names import Key, parse_kind
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import Object
from kontend.runtime.controller import Mapper, Request, Result
from kontend.runtime.predicates import Event, Predicate, Where

NAMESPACE: Final = "Namespace/v1"
PODS: Final = "Pod/v1"
_FINALIZER: Final = "kubernetes"
#: Seconds until the namespace is looked at again where finalizers hold it.
_FINALIZERS_NEED: Final = 15
_GOOD: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


def terminating(obj: Object, cache: Cache) -> Iterator[Key]:
    """Yield the namespace of an object, if it is waiting for its content to go."""
    if obj["kind"] == "Namespace":
        yield Key("", obj["metadata"]["name"])
        return
    namespace = obj["metadata"].get("namespace")
    if namespace:
        key = Key("", namespace)
        view = cache.view(NAMESPACE)
        if key in view and is_deleting(view.get(key)):
            yield key


def _matters(event: Event) -> bool:
    return event.new is None or event.kind == NAMESPACE


class Remaining:
    """The objects that remain in a namespace after everything in it was deleted."""

    def __init__(self) -> None:
        #: Seconds to wait before the next attempt.
        self.estimate = 0
        self.kinds: dict[str, int] = {}
        self.finalizers: Counter[str] = Counter()
        self.errors: list[str] = []

    def conditions(self) -> dict[str, tuple[str, str]]:
        """Return the conditions that are True, with reason and message."""
        bad: dict[str, tuple[str, str]] = {}
        if self.errors:
            listed = ", ".join(sorted(self.errors))
            text = f"Failed to delete all resource types, {len(self.errors)} remaining: {listed}"
            bad["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", text)
        if self.kinds:
            listed = ", ".join(sorted(f"{name} has {count} resource instances" for name, count in self.kinds.items()))
            bad["NamespaceContentRemaining"] = ("SomeResourcesRemain", f"Some resources are remaining: {listed}")
        if self.finalizers:
            listed = ", ".join(sorted(f"{name} in {n} resource instances" for name, n in self.finalizers.items()))
            text = f"Some content in the namespace has finalizers remaining: {listed}"
            bad["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", text)
        return bad


class Namespaces(OfEveryKind):
    """Empties namespaces that are deleted."""

    name = "namespace"
    watches: ClassVar[Mapping[str, Mapper]] = EveryKind(terminating)
    predicates: ClassVar[Mapping[str, Predicate]] = EveryKind(Where(_matters))

    @property
    def kinds(self) -> tuple[str, ...]:
        """All kinds whose events matter."""
        return tuple(dict.fromkeys((*super().kinds, NAMESPACE)))

    async def sync(self, request: Request, api: Api) -> Result | None:
        """Delete the content of a namespace that is being deleted."""
        try:
            namespace = await api.live.get(NAMESPACE, Key("", request.name))
        except NotFound:
            return None
        if not is_deleting(namespace):
            return None
        try:
            if (namespace.get("status") or {}).get("phase") != "Terminating":
                namespace.setdefault("status", {})["phase"] = "Terminating"
                await api.status.update(namespace)
            if not (namespace.get("spec") or {}).get("finalizers"):
                return None
            remaining = await self._delete_content(api, namespace)
            if remaining.errors:
                return Result(requeue=True)
            if remaining.estimate:
                return Result(requeue_after=remaining.estimate // 2 + 1)
            left = sorted({finalizer for finalizer in namespace["spec"]["finalizers"] if finalizer != _FINALIZER})
            namespace["spec"]["finalizers"] = left
            await api.update(namespace, subresource="finalize")
        except NotFound:
            return None
        return None

    async def _delete_content(self, api: Api, namespace: Object) -> Remaining:
        remaining = Remaining()
        await self._delete_kind(api, PODS, "pods", namespace, remaining)
        pods_first = bool(remaining.kinds)
        if not pods_first:
            for kind, plural in (await self.served_kinds(api)).items():
                if kind != PODS and api.is_namespaced(kind):
                    await self._delete_kind(api, kind, plural, namespace, remaining)
        # While only pods were deleted, nothing is known about the rest: the totals are left out.
        bad = {} if pods_first and not remaining.errors else remaining.conditions()
        if _set_conditions(namespace, bad, api.now()):
            await api.status.update(namespace)
        return remaining

    async def _delete_kind(self, api: Api, kind: str, plural: str, namespace: Object, remaining: Remaining) -> None:
        """Delete all objects of a kind, and count what stays."""
        name = namespace["metadata"]["name"]
        try:
            items = await api.live.list(kind, namespace=name)
            if not items:
                return
            estimate = _grace(items) if kind == PODS else 0
            if seconds(api.now()) - seconds(namespace["metadata"]["deletionTimestamp"]) >= estimate:
                estimate = 0
            await self._delete_all(api, kind, name, items)
            items = await api.live.list(kind, namespace=name)
        except ApiError as error:
            remaining.errors.append(error.message)
            return
        remaining.estimate = max(remaining.estimate, estimate)
        if not items:
            return
        finalizers = Counter(finalizer for item in items for finalizer in finalizers_of(item))
        named = parse_kind(kind)
        remaining.kinds[f"{plural}.{named.group}"] = len(items)
        remaining.finalizers.update(finalizers)
        if not estimate:
            if finalizers:
                remaining.estimate = max(remaining.estimate, _FINALIZERS_NEED)
            else:
                where = f"{named.group}/{named.version}, Resource={plural}"
                remaining.errors.append(f"unexpected items still remain in namespace: {name} for gvr: {where}")

    async def _delete_all(self, api: Api, kind: str, namespace: str, items: list[Object]) -> None:
        try:
            await api.delete_all_of(kind, namespace=namespace, propagation="Background")
        except (MethodNotAllowed, NotFound):
            for item in items:
                try:
                    await api.delete(item, resource_version="", propagation="Background")
                except NotFound:
                    continue


def _grace(pods: list[Object]) -> int:
    """Return the longest time that pods which still run may take to stop."""
    running = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
    return max(((pod.get("spec") or {}).get("terminationGracePeriodSeconds") or 0 for pod in running), default=0)


def _set_conditions(namespace: Object, bad: Mapping[str, tuple[str, str]], now: str) -> bool:
    """Set all conditions of a terminating namespace; return whether any of them changed."""
    conditions: list[dict[str, Any]] = namespace["status"].setdefault("conditions", [])
    changed = False
    for kind, good in _GOOD.items():
        reason, message = bad.get(kind, good)
        new = {"type": kind, "status": "True" if kind in bad else "False", "reason": reason, "message": message}
        old = next((condition for condition in conditions if condition["type"] == kind), None)
        if old is None:
            conditions.append({**new, "lastTransitionTime": now})
            changed = True
        elif any(old.get(name) != value for name, value in new.items()):
            if old["status"] != new["status"]:
                old["lastTransitionTime"] = now
            old.update(new)
            changed = True
    return changed
