"""The double-plan race: two reconciles of one object, both see no plan, both write one.

The explorer tries every order of the calls of two instances of a controller and every lag of their caches. With a blind
merge patch it shows the shortest trace that loses a plan; with a patch locked by resourceVersion it shows that there is
none.

    kontend explore examples/double_plan.py
"""

from __future__ import annotations

import copy
import sys
from typing import Any

from kontend import Api, Cluster, Controller, Guards, Request, merge_from
from kontend.explore import Bounds, Scenario, always, check, eventually

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


class BlindNodes(Controller):
    """Makes a plan where it sees none, and patches the status without a lock."""

    kind = NODE
    name = "nodes"
    lock = False

    async def reconcile(self, request: Request, api: Api) -> None:
        """Store a plan before anything else."""
        node = await api.get(self.kind, request)
        if (node.get("status") or {}).get("plan"):
            return
        base = copy.deepcopy(node)
        node["status"] = {"plan": {"id": api.uuid(), "tasks": ["create-statefulset"]}}
        # unlocked where `lock` is False: that is the bug this example is about
        await api.status.patch(node, merge_from(base, lock=self.lock))


class LockedNodes(BlindNodes):
    """The same with optimistic concurrency: the second writer is refused, reads again and sees the plan."""

    name = "nodes"
    lock = True


def has_plan(cluster: Cluster) -> bool:
    """Return True if the node has a plan."""
    return bool((cluster.get(NODE, "n").get("status") or {}).get("plan"))


def one_plan(before: Cluster, after: Cluster) -> bool:
    """Return True unless a stored plan was replaced by another one."""
    old, new = ((cluster.get(NODE, "n").get("status") or {}).get("plan") for cluster in (before, after))
    return old is None or old == new


def _scenario(controller: Controller) -> Scenario:
    return Scenario(
        controllers=[controller],
        crds=[CRD],
        objects=[{"apiVersion": "example.com/v1", "kind": "Node", "metadata": {"name": "n"}}],
        properties=[eventually(has_plan), always(one_plan)],
        bounds=Bounds(lag=1, concurrent=2),
        guards=Guards.off(),
    )


blind = _scenario(BlindNodes())
locked = _scenario(LockedNodes())


def main() -> int:
    """Show the bug, and its absence."""
    print("blind merge patch:")
    broken = check(blind)
    print(broken)
    print("\nmerge patch locked by resourceVersion:")
    fixed = check(locked)
    print(fixed)
    return 0 if broken.violations and fixed.ok else 1


if __name__ == "__main__":
    sys.exit(main())
