"""Controller files with a bug, for the tests of repairs."""

from __future__ import annotations

from pathlib import Path

#: Two replicas, a patch without a lock, odd formatting, and a comment on every line that could change.
COUNTERS = '''\
"""Counts."""
from kontend import Api, Controller, Guards, Request, merge_from, new_object
from kontend.explore import Bounds, Scenario
from kontend.testing import permissive_crd
from copy import deepcopy

KIND = "Node.example.com/v1"


class Nodes(Controller):
    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        node = await api.get( KIND, request )   # from the cache
        if node.get("status"):
            return
        base = deepcopy(node)
        node["status"] = {"plan": {"id":api.uuid()}}  # a plan
        await api.status.patch(node,
                               merge_from(base))  # stored


bug = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(KIND)],
    objects=[new_object(KIND, "n")],
    bounds=Bounds(lag=1, concurrent=2),
    guards=Guards.off(),
)
alone = Scenario(
    controllers=[Nodes()],
    crds=[permissive_crd(KIND)],
    objects=[new_object(KIND, "n")],
    bounds=Bounds(lag=0, faults=0),
    guards=Guards.off(),
)
'''


def written(directory: Path, text: str = COUNTERS, name: str = "counters.py") -> Path:
    """Write a file into a project of its own."""
    (directory / "pyproject.toml").touch()
    file = directory / name
    file.write_text(text)
    return file
