"""Scenarios of the operators, with a fake sidecar: ``kontend explore examples/sei/scenarios.py``.

A scenario begins where the one before it ends: the objects of a node that runs are those that the operator itself has
made. That keeps the spaces small, and what is explored is the change. The first plan and most rollouts have many
steps, so faults are not tried in them unless you ask: ``--faults 1`` searches for half a minute to some minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from kontend import Cluster, Controller, new_object
from kontend.explore import Bounds, Scenario, delete, update
from kontend.testing import settle

from .fakes import RecordedSidecar, RunningNodes, StatefulSets
from .groups import Groups
from .nodes import Nodes
from .resources import CLAIM, GROUP, NODE, SERVICE, STATEFUL_SET, Object

CRDS: Final = list(yaml.safe_load_all(Path(__file__).with_name("crds.yaml").read_text(encoding="utf-8")))
_SPEC: Final[Object] = {"chainId": "pacific-1", "image": "seid:1", "fullNode": {}}


def node(**spec: Any) -> Object:
    """Return the node of the scenarios."""
    return new_object(NODE, "n", namespace="default", spec={**_SPEC, **spec})


def group(strategy: str, **spec: Any) -> Object:
    """Return the group of the scenarios: one node, one strategy."""
    wanted = {"replicas": 1, "updateStrategy": {"type": strategy}, "template": {"spec": _SPEC}, **spec}
    return new_object(GROUP, "g", namespace="default", spec=wanted)


def settled(objects: Sequence[Object], *controllers: Controller) -> list[Object]:
    """Return the objects that there are once the controllers have come to rest."""
    cluster = Cluster(crds=CRDS, objects=objects)
    settle(cluster, controllers)
    return [obj for kind in (GROUP, NODE, STATEFUL_SET, SERVICE, CLAIM) for obj in cluster.list(kind)]


def named(objects: Sequence[Object], kind: str) -> Object:
    """Return the object of a kind."""
    return next(obj for obj in objects if obj["kind"] == kind.partition(".")[0])


def roll_group(image: str) -> Object:
    """Return the change of a group's template to another image."""
    return {"template": {"spec": {**_SPEC, "image": image}}}


_CALM: Final = Bounds(faults=0)

# -- one node

first = Scenario(controllers=[Nodes(RecordedSidecar()), StatefulSets()], crds=CRDS, objects=[node()], bounds=_CALM)
running = settled([node()], Nodes(RecordedSidecar()), StatefulSets())
new_image = replace(first, objects=running, actions=[update(node(), spec={"image": "seid:2"})])
pause = replace(first, objects=running, actions=[update(node(), spec={"paused": True})], bounds=Bounds())
deletion = replace(first, objects=running, actions=[delete(node())], bounds=Bounds())
lost_set = replace(first, objects=running, actions=[delete(named(running, STATEFUL_SET))], bounds=Bounds())

# -- a group of one node

_OPERATORS: Final = [Groups(RecordedSidecar()), RunningNodes()]
_image = roll_group("seid:2")
new_group = Scenario(controllers=_OPERATORS, crds=CRDS, objects=[group("InPlace")])
in_place = replace(
    new_group,
    objects=settled([group("InPlace")], *_OPERATORS),
    actions=[update(group("InPlace"), spec=_image)],
)
blue_green = replace(
    new_group,
    objects=settled([group("BlueGreen")], *_OPERATORS),
    actions=[update(group("BlueGreen"), spec=_image)],
    bounds=_CALM,
)
# A rollout waits for its nodes when the template changes again.
_rolling = deepcopy(in_place.objects)
named(_rolling, GROUP)["spec"].update(_image)
superseded = replace(
    in_place,
    objects=settled(_rolling, Groups(RecordedSidecar())),
    actions=[update(group("InPlace"), spec=roll_group("seid:3"))],
    bounds=_CALM,
)
group_deletion = replace(in_place, actions=[delete(group("InPlace"))])
