"""Feeds a cache from a cluster in this process: the list and the watch of every kind, without waiting.

Nothing runs in the background. ``pump`` delivers what the cluster's history has gained since the last time; a kind in
``held`` stays as it was, which is how a test makes a cache lag.
"""

from __future__ import annotations

from typing import Any

from kontend.cluster.cluster import Cluster
from kontend.cluster.request import ApiRequest
from kontend.cluster.startup.seed import resource_of
from kontend.cluster.wire.present import Stream
from kontend.runtime.cache.views import Cache
from kontend.runtime.client.call import CURRENT, Call, path_of
from kontend.runtime.client.in_process import InProcess


class ClusterFeed:
    """Keeps the views of a cache up to date with a cluster."""

    def __init__(self, cluster: Cluster, cache: Cache) -> None:
        self.cluster = cluster
        self.cache = cache
        self._streams: dict[str, Stream] = {}
        #: Kinds whose events are held back.
        self.held: set[str] = set()

    def pump(self, *kinds: str) -> None:
        """Deliver the new events of the given kinds, or of all cached kinds that are not held back."""
        for kind in kinds or [cached for cached in self.cache.views if cached not in self.held]:
            self._pump(kind)

    def relist(self, kind: str) -> None:
        """List a kind again, as after a watch that was lost: what the cache missed is one event for each object."""
        self._list(kind)

    def forget(self, kind: str) -> None:
        """Drop a kind that is no longer served; handlers get an event for each of its objects."""
        self._streams.pop(kind, None)
        view = self.cache.views.pop(kind, None)
        if view is not None:
            self.cache.deliver(view.replace([], view.version))

    def _pump(self, kind: str) -> None:
        stream = self._streams.get(kind)
        if stream is None:
            self._list(kind)
            return
        state = self.cluster.state
        if state.resource_version <= stream.watch.version:
            return
        events, self._streams[kind] = stream.since(state)
        if any(event["type"] == "ERROR" for event in events):  # the history does not go back so far
            self._list(kind)
            return
        view = self.cache.view(kind)
        for event in events:
            changed = view.apply(event["type"], event["object"])
            if changed is not None:
                self.cache.deliver([changed])
        # The history was read to its end, which is as good as a bookmark.
        view.version = max(view.version, state.resource_version)

    def _list(self, kind: str) -> None:
        state = self.cluster.state
        resource = resource_of(state.registry, kind)
        view = self.cache.view(kind, plural=resource.plural)
        path = path_of(Call("list", kind), resource.plural, namespaced=resource.namespaced)
        query = {"watch": ("1",), "resourceVersion": (str(state.resource_version),)}
        stream = self.cluster.request(ApiRequest("GET", path, query)).watch
        assert stream is not None  # a kind that can be listed can be watched
        self._streams[kind] = stream
        self.cache.deliver(view.replace(self.cluster.list(kind), state.resource_version))


class CachedInProcess(InProcess):
    """Answers cached reads from a cache, and other calls from the cluster."""

    def __init__(self, cluster: Cluster, feed: ClusterFeed, *, agent: str = "kontend") -> None:
        super().__init__(cluster, agent=agent)
        self.feed = feed

    def answer(self, call: Call) -> Any:
        """Carry out a call. A read that must have seen a version makes the cache catch up first."""
        if not call.cached or call.subresource:
            return super().answer(call)
        cache = self.feed.cache
        view = cache.view(call.kind)
        if not view.synced or view.version < call.at_least or call.at_least == CURRENT:
            self.feed.pump(call.kind)
        return cache.answer(call)
