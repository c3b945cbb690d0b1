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
    #: Edges that do not count, and edges in which a user acts, as flags.
    optional: Column
    acts: Column
    #: States of a higher cost than ``most`` do not count either.
    costs: Column
    most: int


class Components(NamedTuple):
    """The closed components of a graph."""

    closed: list[list[int]]
    #: A component with a cycle is left only where a user acts.
    waits_for_users: bool


def closed_components(edges: Edges, directory: Path | None = None, *, without_users: bool = False) -> Components:
    """The closed components, by Tarjan's algorithm without recursion; with its stacks in a ``directory``, if given.

    ``without_users``, edges in which a user acts do not count. A component is complete after all that it leads to. So
    when it is, its edges out are known, and one that has some need not be kept.
    """
    begins, counts, targets, optional, acts, costs, most = edges
    waits_for_users = False
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
                if optional[position] or (without_users and acts[position]):
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
            is_closed, waits = _judged(edges, members, component_of, without_users=without_users)
            waits_for_users = waits_for_users or waits
            if is_closed:
                closed.append(members.tolist())
    for column in (index, low, component_of, stack, path, positions):
        if isinstance(column, MappedColumn):
            column.close()
    return Components(closed, waits_for_users)


def _judged(edges: Edges, members: array[int], component_of: Column, *, without_users: bool) -> tuple[bool, bool]:
    """Reports whether a component is closed, and whether it has a cycle that is left only where a user acts."""
    begins, counts, targets, optional, acts, costs, most = edges
    component = component_of[members[0]]
    has_cycle = users_act = is_left_by_users = False
    for member in members:
        for at in range(begins[member], begins[member] + max(0, counts[member])):
            if acts[at]:
                users_act = True
                if without_users:
                    continue
            if optional[at] or costs[targets[at]] > most:
                continue
            if component_of[targets[at]] == component:
                has_cycle = True
            elif acts[at]:
                is_left_by_users = True
            else:
                return False, False
    return not is_left_by_users, has_cycle and users_act


def _zeros(size: int, directory: Path | None) -> Column:
    return array("I", bytes(4 * size)) if directory is None else MappedColumn.zeros("I", size, directory)


def _empty(directory: Path | None) -> Column:
    return array("q") if directory is None else MappedColumn(array("q"), directory)
