"""Unit tests of controllers: a cluster, the controllers, and nothing else to set up.

cluster = Cluster(crds=[permissive_crd("Widget.example.com/v1")], objects=[widget])
settle(cluster, Widgets())
assert cluster.get("Widget.example.com/v1", "a")["status"]["phase"] == "Ready"
"""

from kontend.kube.crd.permissive import permissive_crd
from kontend.runtime.manager.controller_loop import Outcome
from kontend.runtime.manager.in_process import InProcessManager, Unsettled, settle

__all__ = ["InProcessManager", "Outcome", "Unsettled", "permissive_crd", "settle"]
