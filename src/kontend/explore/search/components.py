"""Strongly connected components of a graph from which no edge leads out: a fair run that reaches one stays there."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import NamedTuple

from kontend.explore.search.store.columns import Column, MappedColumn


class Edges(NamedTuple):
    """The edges of a graph, one behind the other; for each state, where its own begin and how many there are."""

    begins: Column
    counts: Column
    targets: Column
    #: Edges that do not count, as flags.
    left_out: tuple[Column, ...]
    #: States of a higher cost than ``most`` do not count either.
    costs: Column
    most: int


def closed_components(edges: Edges, directory: Path | None = None) -> list[list[int]]:
    """The closed components, by Tarjan's algorithm without recursion; with its stacks in a ``directory``, if given.

    A component is complete after all that it leads to. So when it is, its edges out are known, and one that has some
    need not be kept.
    """
    begins, counts, targets, costs, most = edges.begins, edges.counts, edges.targets, edges.costs, edges.most
    first, *others = edges.left_out
    second = others[0] if others else None
    size = len(begins)
    index, low, component_of = (_zeros(size, directory) for _ in range(3))
    # A state that has an index and no component is on the stack.
    stack, path, positions = (_empty(directory) for _ in range(3))
    closed: list[list[int]] = []
    visited = component = 0
    for root in range(size):
        if index[root] or costs[root] > most:
            continue
        path.append(root)
        positions.append(begins[root])
        while len(path):
            node, at = path.pop(), positions.pop()
            if not index[node]:
                visited += 1
                index[node] = low[node] = visited
                stack.append(node)
            least, pushed = low[node], False
            for position in range(at, begins[node] + max(0, counts[node])):
                if first[position] or (second is not None and second[position]):
                    continue
                other = targets[position]
                if costs[other] > most:
                    continue
                if not index[other]:
                    low[node] = least
                    path.append(node)
                    positions.append(position)  # looked at again, when what follows is known
                    path.append(other)
                    positions.append(begins[other])
                    pushed = True
                    break
                if not component_of[other]:
                    least = min(least, low[other])
            if pushed:
                continue
            low[node] = least
            if least != index[node]:
                continue
            component += 1
            members = array("I")
            while True:
                other = stack.pop()
                component_of[other] = component
                members.append(other)
                if other == node:
                    break
            if all(
                component_of[targets[at]] == component
                for member in members
                for at in range(begins[member], begins[member] + max(0, counts[member]))
                if not (first[at] or (second is not None and second[at])) and costs[targets[at]] <= most
            ):
                closed.append(members.tolist())
    for column in (index, low, component_of, stack, path, positions):
        if isinstance(column, MappedColumn):
            column.close()
    return closed


def _zeros(size: int, directory: Path | None) -> Column:
    return array("I", bytes(4 * size)) if directory is None else MappedColumn.zeros("I", size, directory)


def _empty(directory: Path | None) -> Column:
    return array("q") if directory is None else MappedColumn(array("q"), directory)
