"""Authors of fields, by the managed fields of an object.

A change does not record its author. The manager that owns a field afterwards is the author, as long as it is the only
owner: a client that changes a field takes it from the others.
"""

from __future__ import annotations

import orjson

from kontend.cluster.state import Version
from kontend.explore.properties.overwrites import Element, Path
from kontend.kube.apply.field_set import Tree


def author_of(version: Version, path: Path) -> str:
    """The manager that wrote a field last; empty when the managed fields do not say."""
    depths = [(_depth(entry.fields.tree, path), entry.manager) for entry in version.managed]
    deepest = max(depths, default=(0, ""))[0]
    owners = {manager for depth, manager in depths if depth == deepest}
    return owners.pop() if deepest and len(owners) == 1 else ""


def creator_of(version: Version) -> str:
    """The manager that created an object of which this is the first version; empty when it has none."""
    return version.managed[0].manager if version.managed else ""


def _depth(tree: Tree, path: Path) -> int:
    """The depth to which a set of fields follows a path: to its end, or to a member that is owned whole; else 0."""
    for depth, step in enumerate(path):
        if not tree:
            return depth
        child = next((below for name, below in tree.items() if _stands_for(name, step)), None)
        if child is None:
            return 0
        tree = child
    return len(path)


def _stands_for(name: str, step: str | Element) -> bool:
    """Returns True when an element of managed fields (``f:spec``, ``k:{"type":"Ready"}``) is a step of a path."""
    if isinstance(step, str):
        return name == f"f:{step}"
    if step.key:
        return name.startswith("k:") and orjson.loads(name[2:]).get(step.key) == step.value
    return name.startswith("v:") and orjson.loads(name[2:]) == step.value
