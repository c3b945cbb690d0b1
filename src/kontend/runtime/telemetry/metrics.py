"""Metrics of the runtime, in the text format of Prometheus.

The names are controller-runtime's, so that existing dashboards and alerts fit. A registry belongs to one manager: there
is no global state.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final

Labels = tuple[tuple[str, str], ...]

#: Upper bounds in seconds, as controller-runtime has them for reconciles, thinned.
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metric:
    """A number for each combination of labels."""

    def __init__(self, name: str, help: str, type: str) -> None:
        self.name = name
        self.help = help
        self.type = type
        self.values: dict[Labels, float] = {}

    def add(self, amount: float = 1, **labels: str) -> None:
        """Add to the value."""
        key = tuple(sorted(labels.items()))
        self.values[key] = self.values.get(key, 0) + amount

    def set(self, value: float, **labels: str) -> None:
        """Set the value."""
        self.values[tuple(sorted(labels.items()))] = value

    def get(self, **labels: str) -> float:
        """Return the value."""
        return self.values.get(tuple(sorted(labels.items())), 0)

    def lines(self) -> list[str]:
        """Return the samples."""
        return [f"{self.name}{_labels(labels)} {_number(value)}" for labels, value in sorted(self.values.items())]


class Histogram(Metric):
    """Counts of durations, by upper bounds."""

    def __init__(self, name: str, help: str, bounds: Sequence[float] = _BUCKETS) -> None:
        super().__init__(name, help, "histogram")
        self.bounds = tuple(bounds)
        self.counts: dict[Labels, list[int]] = {}

    def observe(self, seconds: float, **labels: str) -> None:
        """Count a duration."""
        key = tuple(sorted(labels.items()))
        counts = self.counts.setdefault(key, [0] * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, seconds)] += 1
        self.values[key] = self.values.get(key, 0) + seconds

    def lines(self) -> list[str]:
        """Return the samples."""
        lines = []
        for labels, counts in sorted(self.counts.items()):
            total = 0
            for bound, number in zip((*self.bounds, float("inf")), counts, strict=True):
                total += number
                limit = "+Inf" if bound == float("inf") else _number(bound)
                lines.append(f"{self.name}_bucket{_labels((*labels, ('le', limit)))} {total}")
            lines.append(f"{self.name}_sum{_labels(labels)} {_number(self.values[labels])}")
            lines.append(f"{self.name}_count{_labels(labels)} {total}")
        return lines


class Metrics:
    """The metrics of one manager."""

    def __init__(self) -> None:
        self.reconciles = Metric("controller_runtime_reconcile_total", "Reconciles, by result.", "counter")
        self.errors = Metric("controller_runtime_reconcile_errors_total", "Reconciles that failed.", "counter")
        self.seconds = Histogram("controller_runtime_reconcile_time_seconds", "Duration of reconciles.")
        self.active = Metric("controller_runtime_active_workers", "Reconciles that run now.", "gauge")
        self.depth = Metric("workqueue_depth", "Requests that wait.", "gauge")
        self.adds = Metric("workqueue_adds_total", "Requests that were queued.", "counter")
        self.retries = Metric("workqueue_retries_total", "Requests that were queued again after a failure.", "counter")
        self.requests = Metric("rest_client_requests_total", "Requests to the server, by method and code.", "counter")
        self.relists = Metric("kontend_cache_relists_total", "Whole lists read, by kind.", "counter")
        self.events = Metric("kontend_cache_events_total", "Events seen by the cache, by kind.", "counter")
        self.versions = Metric("kontend_cache_resource_version", "The version the cache has seen, by kind.", "gauge")
        self.leader = Metric("leader_election_master_status", "1 while this process is the leader.", "gauge")
        self.refused = Metric("kontend_guard_refusals_total", "Calls refused or delayed, by guard.", "counter")
        #: Called before the metrics are read, to update the gauges.
        self.refresh: list[Callable[[], None]] = []

    def text(self) -> str:
        """Return all metrics in the text format."""
        for update in self.refresh:
            update()
        lines: list[str] = []
        for metric in vars(self).values():
            if isinstance(metric, Metric):
                samples = metric.lines()
                if samples:
                    lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.type}", *samples]
        return "\n".join([*lines, ""])


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
