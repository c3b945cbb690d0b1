"""Unit tests of controllers: a cluster, the controllers, and nothing else to set up.

cluster = Cluster(crds=[WIDGETS], objects=[widget])
settle(cluster, Widgets())
assert cluster.get("Widget.example.com/v1", "a")["status"]["phase"] == "Ready"
"""

from kontend.runtime.manager.controller_loop import Outcome
from kontend.runtime.manager.in_process import InProcessManager, Unsettled, settle

__all__ = ["InProcessManager", "Outcome", "Unsettled", "settle"]
