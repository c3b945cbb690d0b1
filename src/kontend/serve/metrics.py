"""Metrics of the server under the names of kube-apiserver, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

from kontend.cluster.access.attributes import attributes_of
from kontend.cluster.request import ApiRequest
from kontend.cluster.state import State
from kontend.runtime.telemetry.metrics import Histogram, Metric

#: Upper bounds of durations in seconds.
_BOUNDS: Final = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0)
_VERBS: Final = {"deletecollection": "DELETECOLLECTION", "create": "POST", "update": "PUT", "patch": "PATCH"}
_MOST_PATHS: Final = 10_000
#: Verb, group, version, resource, subresource and scope of a request.
Kind = tuple[str, str, str, str, str, str]


class _Tally:
    """The requests of one kind: their number by HTTP code, and by duration, with the sum of all durations last."""

    __slots__ = ("codes", "durations")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.durations = [0.0] * (len(_BOUNDS) + 2)


class ServerMetrics:
    """Counts of requests; what can be read from the state is read when somebody asks."""

    def __init__(self) -> None:
        self._tallies: dict[Kind, _Tally] = {}
        #: Paths are parsed once, as most of them come again.
        self._by_path: dict[tuple[str, str, str], _Tally] = {}

    def count(self, request: ApiRequest, code: int, seconds: float) -> None:
        """Count a request that was answered."""
        path = (request.method, request.path, request.first("watch") if request.query else "")
        tally = self._by_path.get(path)
        if tally is None:
            if len(self._by_path) > _MOST_PATHS:
                self._by_path.clear()
            tally = self._by_path[path] = self._tallies.setdefault(_kind(request), _Tally())
        tally.codes[code] = tally.codes.get(code, 0) + 1
        durations = tally.durations
        durations[0 if seconds <= _BOUNDS[0] else bisect_left(_BOUNDS, seconds)] += 1
        durations[-1] += seconds

    def text(self, state: State, *, watches: int, connections: int, unacknowledged: int) -> str:
        """All metrics."""
        requests = Metric("apiserver_request_total", "Requests by verb, resource and HTTP code.", "counter")
        for kind, tally in self._tallies.items():
            for code, number in tally.codes.items():
                requests.add(number, code=str(code), component="apiserver", dry_run="", **_labels(kind))
        durations = Histogram("apiserver_request_duration_seconds", "Time to answer a request.", _BOUNDS)
        for kind, tally in self._tallies.items():
            key = tuple(sorted({"component": "apiserver", "dry_run": "", **_labels(kind)}.items()))
            durations.counts[key] = [int(count) for count in tally.durations[:-1]]
            durations.values[key] = tally.durations[-1]
        objects = Metric("apiserver_storage_objects", "Stored objects by resource.", "gauge")
        resources = Metric("apiserver_resource_objects", "Stored objects by group and resource.", "gauge")
        for name, stored in state.kinds.items():
            objects.set(len(stored), resource=name)
            plural, _, group = name.partition(".")
            resources.set(len(stored), group=group, resource=plural)
        watchers = Metric("apiserver_longrunning_requests", "Watches that are open.", "gauge")
        watchers.set(watches, component="apiserver", verb="WATCH")
        gauges = [
            Metric("kontend_connections", "Clients that are connected.", "gauge"),
            Metric("kontend_unacknowledged_writes", "Writes on their way to the disk.", "gauge"),
            Metric("kontend_resource_version", "The version of the last write.", "gauge"),
        ]
        for gauge, value in zip(gauges, (connections, unacknowledged, state.resource_version), strict=True):
            gauge.set(value)
        lines: list[str] = []
        for metric in (requests, durations, objects, resources, watchers, *gauges):
            samples = metric.lines()
            if samples:
                lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.type}", *samples]
        return "\n".join([*lines, ""])


def _kind(request: ApiRequest) -> Kind:
    asked = attributes_of(request.user, request.method, request.path, request.query)
    verb = _VERBS.get(asked.verb) or asked.verb.upper()
    if asked.path or not asked.resource:
        return verb, "", "", "", "", ""
    scope = "resource" if asked.name else "namespace" if asked.namespace else "cluster"
    return verb, asked.group, asked.version, asked.resource, asked.subresource, scope


def _labels(kind: Kind) -> Mapping[str, str]:
    names = ("verb", "group", "version", "resource", "subresource", "scope")
    return dict(zip(names, kind, strict=True))
