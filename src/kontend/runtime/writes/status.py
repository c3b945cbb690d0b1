"""Status writes: copy, mutate, diff, one merge patch.

``mutate_status`` sends only what changed, through the status subresource, with the version that was read, so that it is
refused when another writer came in between. ``lock=False`` leaves the version out. That is ToolHive's
``MutateAndPatchStatus``: writers of different fields do not disturb each other even from stale snapshots, but a value
computed from a stale snapshot wins, and a list (the conditions) replaces the elements of others.
"""

from __future__ import annotations

from kontend.kube.json_types import Object
from kontend.runtime.client.api import Api
from kontend.runtime.writes.snapshot import Mutate, Snapshot, apply_mutation, check_mutation

_CALLER = "mutate_status"


async def mutate_status(api: Api, obj: Object, mutate: Mutate, *, lock: bool = True) -> bool:
    """Let ``mutate`` change the status of ``obj``, and send the changes. Returns False if there are none.

    ``mutate`` is a plain function that changes ``obj["status"]`` in place; there always is one to change. A change made
    before the call is on both sides of the difference and is not sent. On success ``obj`` is the server's response; on
    any error it is what it was before the call, and the error is the server's own.

    >>> from kontend import Cluster, Controller
    >>> from kontend.testing import settle
    >>> class Counts(Controller):
    ...     kind = "Deployment.apps/v1"
    ...     async def reconcile(self, request, api):
    ...         deployment = await api.get(self.kind, request)
    ...         await mutate_status(api, deployment, lambda obj: obj["status"].update(replicas=3))
    >>> template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    >>> spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    >>> web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    >>> cluster = Cluster(objects=[web])
    >>> settle(cluster, Counts())
    2
    >>> cluster.get("Deployment.apps/v1", "web")["status"]["replicas"]
    3
    """
    before = Snapshot.of(obj, _CALLER, lock=lock)
    check_mutation(mutate, _CALLER)
    try:
        if obj.get("status") is None:
            obj["status"] = {}
        apply_mutation(mutate, obj, _CALLER)
        status = before.status_changes(obj, _CALLER)
        if status == {}:
            before.restore(obj)
            return False
        await api.status.patch(obj, before.patch({"status": status}, lock=lock))
    except BaseException:
        before.restore(obj)
        raise
    return True
