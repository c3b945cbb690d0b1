"""A Website is a Deployment that runs its image, and a status that says whether it is up.

kontend run examples/website_operator.py
"""

from typing import Any

from kontend import Api, Controller, NotFound, Request, Result, StatusScope, sync_child


def deployment(site: dict[str, Any]) -> dict[str, Any]:
    labels = {"website": site["metadata"]["name"]}
    containers = [{"name": "web", "image": site["spec"]["image"]}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": site["metadata"]["name"]},
        "spec": {
            "replicas": site["spec"].get("replicas", 1),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }


class Websites(Controller):
    kind = "Website.example.com/v1"
    owns = ("Deployment.apps/v1",)

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        try:
            site = await api.get(self.kind, request)
        except NotFound:
            return None  # it is gone, and its Deployment with it
        async with StatusScope(api, site) as scope:  # one locked patch of the status at the end
            synced = await sync_child(api, scope, deployment(site), field="deployment")
            ready = ((synced.child or {}).get("status") or {}).get("readyReplicas", 0)
            scope.status["phase"] = "Up" if ready >= site["spec"].get("replicas", 1) else "Starting"
        return synced.result
