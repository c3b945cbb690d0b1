"""A backend for unit tests: a cluster in this process, and caches that have always seen everything.

No call waits. A test that wants a stale read keeps an older state and reads that (:meth:`InProcess.lag`).
"""

from __future__ import annotations

from typing import Any

from kontend.cluster.cluster import Cluster
from kontend.cluster.effects import Waiting
from kontend.cluster.request import ApiRequest
from kontend.cluster.startup.seed import resource_of
from kontend.cluster.state import State
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.errors import BadRequest, from_status
from kontend.kube.json_types import Object
from kontend.runtime.client.call import CURRENT, METHODS, Call, check_namespace, path_of
from kontend.runtime.indexes import OWNER, Indexer, owner_uids


class InProcess:
    """Carries calls out on a :class:`Cluster`."""

    def __init__(self, cluster: Cluster, *, agent: str = "kontend") -> None:
        self.cluster = cluster
        self.agent = agent
        #: The state that a lagging cache has seen, by kind. Other kinds are read from the present state.
        self.views: dict[str, State] = {}
        #: Index functions, by kind and by the name of the index.
        self.indexes: dict[str, dict[str, Indexer]] = {}

    async def call(self, call: Call) -> Any:
        """Carry out a call: at once, unless webhooks must be asked first."""
        try:
            return self.answer(call)
        except Waiting as waiting:
            return self._finished(call, await waiting.response)

    def answer(self, call: Call) -> Any:
        """Carry out a call without an event loop."""
        resource = resource_of(self.cluster.state.registry, call.kind)
        check_namespace(call, namespaced=resource.namespaced)
        cluster = self.cluster
        if call.cached:
            view = self.views.get(call.kind)
            if view is not None and (view.resource_version < call.at_least or call.at_least == CURRENT):
                view = self.views[call.kind] = cluster.state
            if view is not None:
                cluster = Cluster(state=view)
        response = cluster.request(
            ApiRequest(
                METHODS[call.verb],
                path_of(call, resource.plural, namespaced=resource.namespaced),
                {name: (value,) for name, value in call.query if name != "index"},
                call.body,
                content_type=call.content_type,
                user_agent=self.agent,
            )
        )
        return self._finished(call, response)

    def _finished(self, call: Call, response: ApiResponse) -> Any:
        """Return the body of a response; raises what the server refused."""
        if response.code >= 400:
            raise from_status(response.body) if isinstance(response.body, dict) else BadRequest(str(response.body))
        index = dict(call.query).get("index")
        if index is not None:
            response.body["items"] = self._indexed(call.kind, index, response.body["items"])
        return response.body

    def _indexed(self, kind: str, index: str, items: list[Object]) -> list[Object]:
        name, _, value = index.partition("=")
        indexers = {OWNER: owner_uids} | self.indexes.get(kind, {})
        if name not in indexers:
            raise BadRequest(f"{kind} has no index {name!r}; there are: {', '.join(sorted(indexers))}")
        return [item for item in items if value in indexers[name](item)]

    def lag(self, kind: str, state: State | None = None) -> None:
        """Keep the cache of a kind at a state, the present one unless given."""
        self.views[kind] = self.cluster.state if state is None else state

    def is_namespaced(self, kind: str) -> bool:
        """Return True for a namespaced kind."""
        return resource_of(self.cluster.state.registry, kind).namespaced

    def now(self) -> str:
        """Return the cluster's time."""
        return self.cluster.now

    def uuid(self) -> str:
        """Return a uuid that is new on this cluster, and the same one after the same history."""
        self.cluster.state, uuid = self.cluster.state.next_uid()
        return uuid
