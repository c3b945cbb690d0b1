"""Objects that a final state keeps although they should be gone.

An object that is being deleted waits for its finalizers. If everything has settled and one is left that a controller
had put there, no controller removes it: the object stays forever.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from kontend.cluster.state import State
from kontend.explore.model.model import Model
from kontend.explore.properties.built_in import Breach, BuiltIn

#: Finalizers of the garbage collector, which may take no part in a scenario.
_COLLECTOR = frozenset({"foregroundDeletion", "orphan"})


class Leaks:
    """Finds leaks in final states."""

    def __init__(self, initial: State, untouched: State | None = None) -> None:
        """``initial`` is the state in which runs begin; objects that are as in ``untouched`` are left out."""
        self._untouched = untouched
        #: Finalizers that were there from the start belong to somebody outside.
        self._outside = _COLLECTOR | {
            finalizer
            for resource in initial.kinds
            for version in initial.objects(resource).values()
            for finalizer in _metadata(version.body).get("finalizers") or ()
        }

    def of(self, state: State) -> Iterator[Breach]:
        """The leaks of a final state."""
        for resource in state.kinds:
            for key, version in state.objects(resource).items():
                if b'"deletionTimestamp"' not in version.body or b'"finalizers"' not in version.body:
                    continue
                known = self._untouched.find(resource, key) if self._untouched is not None else None
                if known is not None and known.resource_version == version.resource_version:
                    continue
                metadata = _metadata(version.body)
                left = [name for name in metadata.get("finalizers") or () if name not in self._outside]
                if metadata.get("deletionTimestamp") and left:
                    kind = orjson.loads(version.body).get("kind", resource)
                    yield Breach(
                        BuiltIn.LEAK,
                        f"everything has settled, and {kind} {key} is still being deleted: no controller removes its "
                        f"finalizer {', '.join(left)}",
                    )


def _metadata(body: bytes) -> dict[str, Any]:
    metadata: dict[str, Any] = orjson.loads(body).get("metadata") or {}
    return metadata


def leaks_in(model: Model) -> Leaks:
    """The leaks of the clusters of a model."""
    if model.part is None:
        return Leaks(model.initial().state)
    return Leaks(model.part.whole, untouched=model.part.start.state)
