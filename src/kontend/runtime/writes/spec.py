"""Writes of spec and metadata: copy, mutate, diff, one locked merge patch.

Always locked: spec and metadata have lists and maps that others write too (finalizers, owner references, annotations),
and a merge patch replaces lists whole.
"""

from __future__ import annotations

from collections.abc import Mapping

from kontend.kube.errors import WrongObject
from kontend.kube.json_types import Object
from kontend.runtime.client.api import Api
from kontend.runtime.writes.scope import StatusScope
from kontend.runtime.writes.snapshot import Mutate, Snapshot, apply_mutation, check_mutation

_CALLER = "mutate_object"
_IDENTITY = ("name", "namespace", "uid", "resourceVersion")


async def mutate_object(api: Api, target: Object | StatusScope, mutate: Mutate) -> bool:
    """Let ``mutate`` change all but the status of an object, and send the changes. Returns False if there are none.

    On success the object is the server's response; on any error it is what it was before the call, and the error is the
    server's own. In a :class:`StatusScope` pass the scope: changes of the status in memory are kept for its flush.

    >>> from kontend import Cluster, Controller
    >>> from kontend.testing import settle
    >>> class Pauses(Controller):
    ...     kind = "Deployment.apps/v1"
    ...     async def reconcile(self, request, api):
    ...         deployment = await api.get(self.kind, request)
    ...         await mutate_object(api, deployment, lambda obj: obj["spec"].update(paused=True))
    >>> template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    >>> spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    >>> web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    >>> cluster = Cluster(objects=[web])
    >>> settle(cluster, Pauses())
    2
    >>> cluster.get("Deployment.apps/v1", "web")["spec"]["paused"]
    True
    """
    if isinstance(target, StatusScope):
        unsaved = target.unsaved()
        sent = await mutate_object(api, target.obj, mutate)
        if sent:
            target.rebase(unsaved)
        return sent
    before = Snapshot.of(target, _CALLER)
    check_mutation(mutate, _CALLER)
    try:
        apply_mutation(mutate, target, _CALLER)
        changes = before.changes(target)
        _check(changes)
        if not changes:
            before.restore(target)
            return False
        await api.patch(target, before.patch(changes, lock=True))
    except BaseException:
        before.restore(target)
        raise
    return True


def _check(changes: Mapping[str, object]) -> None:
    if "status" in changes:
        raise WrongObject(f"{_CALLER}: status was changed, but mutate_object does not write it; use mutate_status")
    metadata = changes.get("metadata", {})
    identity = [field for field in ("apiVersion", "kind") if field in changes]
    if isinstance(metadata, Mapping):
        identity += [f"metadata.{field}" for field in _IDENTITY if field in metadata]
    else:
        identity.append("metadata")
    if identity:
        raise WrongObject(f"{_CALLER}: {identity[0]} was changed, but it identifies the object and must stay")
