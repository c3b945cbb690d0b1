"""Scenarios of the historical variants: ``kontend explore examples/sei/variant_scenarios.py --scenario NAME``.

Guards are off, because controller-runtime has none. Beside the variants the operator itself is explored, with
the same properties and bounds (``product_...``).
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import replace
from typing import Any

from kontend import Cluster, Guards, is_controlled_by
from kontend.explore import Bounds, Scenario, eventually, never, update

from . import scenarios
from .fakes import RECORD, RecordedSidecar, RunningNodes, StatefulSets
from .group_variants import CachedAwait, EarlyHash, UpdatesIncumbents
from .node_planner import plan_for
from .nodes import Nodes
from .resources import FINALIZER, GROUP, NODE, STATEFUL_SET, Object, claim, template_hash
from .scenarios import CRDS, named, node, running
from .variants import (
    Applied,
    Blind,
    ExecutesBeforePersisting,
    KeepsTracking,
    OnlyTheTask,
    TypedUpdate,
    Upstream,
)


def deletes_its_own_set(before: Cluster, after: Cluster) -> bool:
    """A set that the node controls disappears, and the node stays."""
    owner = before.get(NODE, "n")
    own = [stateful_set for stateful_set in before.list(STATEFUL_SET) if is_controlled_by(stateful_set, owner)]
    return bool(own) and not after.list(STATEFUL_SET)


def submits_twice(cluster: Cluster) -> bool:
    """The sidecar has executed a command of one update twice."""
    commands = Counter(record["data"]["command"] for record in cluster.list(RECORD) if "command" in record["data"])
    return any(count > 1 for count in commands.values())


def is_scaled_down(cluster: Cluster) -> bool:
    """The set of the paused node has no replicas."""
    return bool(cluster.get(STATEFUL_SET, "n")["spec"]["replicas"] == 0)


def traffic_has_moved(cluster: Cluster) -> bool:
    """The traffic goes to the entrants."""
    return bool(cluster.get(GROUP, "g")["status"]["revision"] == "2")


def updates_an_incumbent(cluster: Cluster) -> bool:
    """A node of the first revision has the new image, in a rollout that should replace it."""
    incumbents = [node for node in cluster.list(NODE) if node["metadata"]["name"] == "g-1-0"]
    return any(incumbent["spec"]["image"] == "seid:2" for incumbent in incumbents)


def recorded_too_early(cluster: Cluster) -> bool:
    """The new template is recorded as rolled out, and a node does not run it."""
    rolled = cluster.get(GROUP, "g")
    if rolled["status"]["templateHash"] != template_hash(rolled):
        return False
    image = rolled["spec"]["template"]["spec"]["image"]
    return any(node["status"].get("currentImage") != image for node in cluster.list(NODE))


def _changed(kind: str, **parts: Any) -> list[Object]:
    """Return the objects of a running node with one of them changed."""
    objects = deepcopy(running)
    for part, change in parts.items():
        named(objects, kind)[part].update(change)
    return objects


_base = Scenario(controllers=[Nodes(RecordedSidecar()), StatefulSets()], crds=CRDS, guards=Guards.off())

# The set is gone; the status of the node still tracks it.
product_lost_set = replace(
    _base,
    objects=[obj for obj in running if obj["kind"] != "StatefulSet"],
    properties=[never(deletes_its_own_set)],
)
v1_lost_set = replace(product_lost_set, controllers=[TypedUpdate(RecordedSidecar()), StatefulSets()])
v2_lost_set = replace(product_lost_set, controllers=[KeepsTracking(RecordedSidecar()), StatefulSets()])
v3_lost_set = replace(product_lost_set, controllers=[Upstream(RecordedSidecar()), StatefulSets()])

# Somebody has put another set in the place of the tracked one, and a plan is about to apply it.
_impostor = _changed(NODE, spec={"image": "seid:2"})
_update = plan_for(named(_impostor, NODE))
assert _update is not None
named(_impostor, NODE)["status"]["plan"] = _update.begin("5eb6a1b0-0000-4000-8000-000000000000")
named(_impostor, STATEFUL_SET)["metadata"].update(uid="0f0f0f0f-0000-4000-8000-000000000000", ownerReferences=[])
product_impostor = replace(product_lost_set, objects=_impostor, bounds=Bounds(lag=0, faults=0))
v2_impostor = replace(product_impostor, controllers=[KeepsTracking(RecordedSidecar()), StatefulSets()])
v3_impostor = replace(product_impostor, controllers=[Upstream(RecordedSidecar()), StatefulSets()])

# A node that runs is paused.
product_paused = replace(
    _base,
    objects=running,
    actions=[update(node(), spec={"paused": True})],
    properties=[eventually(is_scaled_down)],
)
v0_paused = replace(product_paused, controllers=[OnlyTheTask(RecordedSidecar()), StatefulSets()])

# Two instances of the operator find a node without a plan. Its claim belongs to somebody else, which keeps the plan
# short: its first step fails.
_unplanned = node()
_unplanned["metadata"]["finalizers"] = [FINALIZER]
product_two_instances = replace(
    _base, objects=[_unplanned, claim(_unplanned)], bounds=Bounds(instances={Nodes.name: 2})
)
locked = replace(
    product_two_instances,
    controllers=[Upstream(RecordedSidecar()), StatefulSets()],
    bounds=Bounds(instances={Nodes.name: 2}, lag=0, faults=0),
)
blind = replace(product_two_instances, controllers=[Blind(RecordedSidecar()), StatefulSets()])
blind_apply = replace(product_two_instances, controllers=[Applied(RecordedSidecar()), StatefulSets()])

# The image of a node that runs has changed, and the operator may crash.
product_new_image = replace(
    _base,
    objects=_changed(NODE, spec={"image": "seid:2"}),
    properties=[never(submits_twice)],
    bounds=Bounds(lag=0, failed=0, lost=0, rewind=0),
)
executes_before_persisting = replace(
    product_new_image, controllers=[ExecutesBeforePersisting(RecordedSidecar()), StatefulSets()]
)

# A group of one node is rolled out.
product_blue_green = replace(
    scenarios.blue_green,
    properties=[eventually(traffic_has_moved), never(updates_an_incumbent)],
    guards=Guards.off(),
    bounds=Bounds(lag=0, faults=0),
)
early_hash = replace(
    product_blue_green,
    controllers=[EarlyHash(RecordedSidecar()), RunningNodes()],
    properties=[eventually(traffic_has_moved)],
)
updates_incumbents = replace(product_blue_green, controllers=[UpdatesIncumbents(RecordedSidecar()), RunningNodes()])
product_in_place = replace(
    scenarios.in_place, properties=[never(recorded_too_early)], guards=Guards.off(), bounds=Bounds(faults=0)
)
cached_await = replace(product_in_place, controllers=[CachedAwait(RecordedSidecar()), RunningNodes()])
