"""The order of restarts onto older lists: what was being deleted comes before an old status."""

from __future__ import annotations

from kontend import Cluster
from kontend.cluster.state import State
from kontend.kube.meta.names import Key
from kontend.live.gate.call import Call
from kontend.live.gate.perturbation import Rewind
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Log, Request
from kontend.live.plans.older_lists import rewinds
from kontend.live.process.quiescence import Rest
from kontend.live.runs.outcome import Run


def deployment(name: str) -> dict[str, object]:
    """A Deployment: it has a status and a generation."""
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {"name": name, "finalizers": ["example.com/f"]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def worked(cluster: Cluster) -> State:
    """The state when a controller has noted something in the status, twice, and made a child."""
    for count in (1, 2):
        cluster.patch("Deployment.apps/v1", "w", {"status": {"observedGeneration": count}}, subresource="status")
    cluster.patch("ConfigMap/v1", "child", {"data": {"version": str(cluster.state.resource_version)}})
    return cluster.state


def test_after_the_last_action_lists_of_its_kind_with_other_objects_come_first() -> None:
    cluster = Cluster()
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}})
    initial = cluster.state
    phases = [initial]
    cluster.create(deployment("w"))
    phases.append(worked(cluster))
    cluster.delete("Deployment.apps/v1", "w")
    cluster.patch("Deployment.apps/v1", "w", {"metadata": {"finalizers": []}})
    phases.append(cluster.state)
    cluster.create(deployment("w"))
    phases.append(worked(cluster))
    log = Log()
    for number, resource in enumerate(("configmaps", "deployments.apps"), start=1):
        request = Request(number, "controller", Call("list", resource), 0.0, 0, Key("", ""))
        request.may_be_old = True
        log.add(request)
    run = Run(Plan(()), log, Rest.IDLE, initial, cluster.state, phases=phases)

    plans = rewinds(run, ["deployments.apps"] * 3, {"configmaps", "deployments.apps"})
    (first,) = plans[0].perturbations
    assert isinstance(first, Rewind)
    assert (first.resource, first.after) == ("deployments.apps", 3)
    # While it was being deleted, each other list once, then those with an old status.
    kinds = [plan.perturbations[0] for plan in plans]
    assert kinds[0] == Rewind("deployments.apps", 3, 2, changes=True)
    assert kinds.index(Rewind("deployments.apps", 3, 1)) > 4
    assert len(set(kinds)) == len(kinds)
