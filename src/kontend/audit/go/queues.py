"""The queues that a write runs in, found by walking from its function to the callers.

A controller's queue never reconciles one object twice at a time, so two writes of one queue are in order. Where a write
stands says little about that: a helper package is called by one controller or by three, and a sub-reconciler in a
package of its own belongs to the controller that calls it. Comparing packages made a second writer of every helper.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kontend.audit.go.source.package import FunctionKey, GoFunction
from kontend.audit.go.source.syntax import text
from kontend.audit.go.source.types import calling_functions
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Site

_FUNCTIONS = 200
"""Functions that are visited for one write: a helper that everything calls belongs to no queue in particular."""


@dataclass(eq=False)
class Queues:
    """The queues of functions, each walked once."""

    workspace: Workspace
    _known: dict[FunctionKey, tuple[str, ...]] = field(default_factory=dict)
    _calling: dict[FunctionKey, frozenset[FunctionKey]] = field(default_factory=dict)

    def of(self, site: Site) -> tuple[str, ...]:
        """Return the names of the queues that a site runs in: a directory and a type each; none where too many call.

        A function that nothing in sight calls, a handler or `main`, stands for its package and names no type.
        """
        self.workspace.settle()
        file = self.workspace.files.get(site.place.path)
        if file is None:
            return ()
        function = next(
            (each for each in file.functions if each.node.start_point[0] < site.place.line <= _end(each)), None
        )
        if function is None:
            return ()
        if function.key not in self._known:
            start = function.key  # the walk drops trees, and this function with them
            self._known[start] = self._walk(start)
            return self._known[start]
        return self._known[function.key]

    def _walk(self, start: FunctionKey) -> tuple[str, ...]:
        queues: set[str] = set()
        seen: set[FunctionKey] = set()
        waiting = [start]
        while waiting:
            key = waiting.pop()
            if key in seen:
                continue
            seen.add(key)
            if len(seen) > _FUNCTIONS:
                return ()
            function = self.workspace.function(key)
            if _takes_requests(function) or self._reconciler(function):
                queues.add(f"{function.file.directory}:{function.receiver_type}")
                continue
            directory = function.file.directory
            if key not in self._calling:
                self._calling[key] = calling_functions(self.workspace, key)
            waiting += self._calling[key]
            if not self._calling[key]:
                queues.add(f"{directory}:")
        return tuple(sorted(queues))

    def _reconciler(self, function: GoFunction) -> bool:
        """Decide whether a method belongs to a type that takes requests from a queue."""
        if not function.receiver_type:
            return False
        named = self.workspace.package(function.file.directory).functions.get("Reconcile", ())
        return any(each.receiver_type == function.receiver_type and _takes_requests(each) for each in named)


def _takes_requests(function: GoFunction) -> bool:
    """Recognise `Reconcile(ctx, req ctrl.Request)`; a sub-reconciler takes the object instead."""
    return function.name == "Reconcile" and any(text(kind).endswith("Request") for _, kind in function.parameters)


def _end(function: GoFunction) -> int:
    return function.node.end_point[0] + 1
