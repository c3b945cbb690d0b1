"""Clusters with controllers, for the tests of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from definitions import definition
from kontend import Cluster
from kontend.controllers import controllers, pod_controllers
from kontend.controllers.process import ControllerProcess
from kontend.kube.json_types import Json
from kontend.runtime.controller import Controller

PODS = "Pod/v1"
DEPLOYMENTS = "Deployment.apps/v1"
REPLICA_SETS = "ReplicaSet.apps/v1"
STATEFUL_SETS = "StatefulSet.apps/v1"
DAEMON_SETS = "DaemonSet.apps/v1"
JOBS = "Job.batch/v1"

WIDGETS: Json = definition(subresources={})


class Harness:
    """A cluster and its controllers; with ``nodes`` pods are scheduled and run."""

    def __init__(
        self,
        *,
        nodes: int = 0,
        jobs_end: bool = False,
        crds: list[Json] | None = None,
        also: Sequence[Controller] = (),
    ) -> None:
        self.cluster = Cluster(crds=crds or [])
        chosen = [*controllers(), *(pod_controllers(jobs_end=jobs_end) if nodes else []), *also]
        self.process = ControllerProcess(self.cluster, chosen, clock=None)
        for number in range(nodes):
            self.cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}})
        if nodes:
            self.settle()

    def settle(self, seconds: float = 5) -> int:
        """Let the controllers work until nothing is left to do for a while."""
        return self.process.settle(seconds=seconds)

    def create(self, obj: Json, *, settle: bool = True) -> Json:
        """Create an object and let the controllers see it."""
        made = self.cluster.create(obj)
        if settle:
            self.settle()
        return made

    def patch(self, kind: str, name: str, patch: Json, *, status: bool = False, settle: bool = True) -> Json:
        """Patch an object and let the controllers see it."""
        patched = self.cluster.patch(kind, name, patch, subresource="status" if status else "")
        if settle:
            self.settle()
        return patched

    def delete(self, kind: str, name: str, **options: Any) -> None:
        """Delete an object and let the controllers see it."""
        self.cluster.delete(kind, name, **options)
        self.settle()

    def names(self, kind: str, **where: Any) -> list[str]:
        """The names of all objects of a kind."""
        return [obj["metadata"]["name"] for obj in self.cluster.list(kind, **where)]

    def status(self, kind: str, name: str) -> Json:
        """The status of an object."""
        status: Json = self.cluster.get(kind, name)["status"]
        return status

    def make_ready(self, *names: str) -> None:
        """Report pods as running and ready, all of them unless named, as a kubelet would."""
        ready = [{"type": "Ready", "status": "True", "lastTransitionTime": self.cluster.now}]
        for name in names or self.names(PODS):
            status = {"phase": "Running", "conditions": ready}
            self.patch(PODS, name, {"status": status}, status=True, settle=False)
        self.settle()

    def finish(self, phase: str, *names: str) -> None:
        """Let pods come to an end, all that have not unless named."""
        running = [
            obj["metadata"]["name"]
            for obj in self.cluster.list(PODS)
            if obj["status"]["phase"] not in ("Succeeded", "Failed")
        ]
        for name in names or running:
            self.patch(PODS, name, {"status": {"phase": phase}}, status=True, settle=False)
        self.settle()


def config_map(name: str, *owners: Json, **metadata: Any) -> Json:
    """A ConfigMap with owners, given as objects or as references."""
    references = [owner if "uid" in owner else reference_to(owner) for owner in owners]
    made = {"name": name, **({"ownerReferences": references} if references else {}), **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": made}


def reference_to(owner: Json, **more: Any) -> Json:
    """A reference to an owner."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        **more,
    }


def template(app: str = "web", image: str = "app:1", **spec: Any) -> Json:
    """A pod template."""
    containers = [{"name": "main", "image": image, "ports": [{"name": "http", "containerPort": 8080}]}]
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers, **spec}}


def workload(kind: str, name: str = "web", **spec: Any) -> Json:
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet."""
    selector = {"matchLabels": {"app": name}}
    body = {"selector": selector, "template": template(name), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": body}


def job(name: str = "work", **spec: Any) -> Json:
    """A Job."""
    pod = {"spec": {"containers": [{"name": "main", "image": "app:1"}], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": pod, **spec},
    }


def new_image(image: str) -> Json:
    """A patch that changes the template."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}}
