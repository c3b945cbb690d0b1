"""The double-plan race: two reconciles of one object, both see no plan, both write one.

The bug of the public record behind kontend, on the simulated API server: first with a blind merge patch, which loses a
plan in silence, then with the patch locked by resourceVersion, where the second writer is told to read again.
"""

from __future__ import annotations

from typing import Any

from kontend import Cluster, Conflict

NODE = "Node.example.com/v1"

CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "nodes.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "nodes", "kind": "Node"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def plan(node: dict[str, Any], worker: str, *, lock: bool) -> dict[str, Any]:
    """The patch a reconcile sends when it saw no plan: its own plan, with or without the version it read."""
    patch: dict[str, Any] = {"status": {"plan": {"id": f"plan-of-{worker}", "tasks": ["create-statefulset"]}}}
    if lock:
        patch["metadata"] = {"resourceVersion": node["metadata"]["resourceVersion"]}
    return patch


def race(*, lock: bool) -> str:
    """Two reconciles read, then both write. Returns what became of the plans, in one sentence."""
    cluster = Cluster(crds=[CRD], objects=[{"apiVersion": "example.com/v1", "kind": "Node", "metadata": {"name": "n"}}])
    first = cluster.get(NODE, "n")
    second = cluster.get(NODE, "n")  # the same version: neither sees a plan
    made = []
    for worker, node in (("first", first), ("second", second)):
        try:
            cluster.patch(NODE, "n", plan(node, worker, lock=lock), subresource="status")
            made.append(f"plan-of-{worker}")
        except Conflict as refused:
            seen = cluster.get(NODE, "n")["status"]["plan"]["id"]
            print(f"    {worker} was refused ({refused.message.partition(': ')[2]}); it reads again and sees {seen}")
    kept = cluster.get(NODE, "n")["status"]["plan"]["id"]
    if len(made) > 1:
        return f"two plans were made ({', '.join(made)}); {made[0]} was overwritten in silence by {kept}"
    return f"one plan was made, and it is still there: {kept}"


def main() -> None:
    """Show the race twice."""
    print("blind merge patch:")
    print(f"    {race(lock=False)}")
    print("merge patch locked by resourceVersion:")
    print(f"    {race(lock=True)}")


if __name__ == "__main__":
    main()
