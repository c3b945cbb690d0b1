"""Speed of the API server, empty and full."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from benchmarks.objects import WIDGET, WIDGETS, deployment, widget
from benchmarks.table import microseconds, row
from kontend import Cluster

_FULL = 200_000
_SAMPLE = 2_000


def main() -> None:
    """Print the table."""
    print("The API server in process, on one core")
    cluster = Cluster(crds=[WIDGETS], objects=[widget(), deployment()])
    took = microseconds(lambda: cluster.get("Deployment.apps/v1", "web"))
    row("get of a Deployment", f"{took:.1f} µs", "under 20 µs", good=took < 20)
    took = microseconds(_status_patch(cluster))
    row("merge patch of a small custom resource's status", f"{took:.0f} µs", "under 200 µs", good=took < 200)
    took = microseconds(_apply(cluster), calls=50)
    row("apply of a Deployment that changes it", f"{took:.0f} µs", "under 2000 µs", good=took < 2000)
    cluster.apply(deployment(), manager="bench", force=True)
    took = microseconds(lambda: cluster.apply(deployment(), manager="bench"), calls=50)
    row("apply of a Deployment that changes nothing", f"{took:.0f} µs", "under 2000 µs", good=took < 2000)
    _growth()


def _status_patch(cluster: Cluster) -> Callable[[], object]:
    phases = itertools.cycle(("Ready", "Pending"))
    return lambda: cluster.patch(WIDGET, "w", {"status": {"phase": next(phases)}}, subresource="status")


def _apply(cluster: Cluster) -> Callable[[], object]:
    images = itertools.cycle(("web:1", "web:2"))
    return lambda: cluster.apply(deployment(image=next(images)), manager="bench", force=True)


def _growth() -> None:
    """The time of a create in an empty cluster against that in a full one, measured in one run."""
    cluster = Cluster()
    times: list[float] = []
    for index in range(_FULL):
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{index}"}, "data": {"n": str(index)}}
        start = time.process_time()
        cluster.create(obj)
        times.append(time.process_time() - start)
    # Single creates are noisy, their medians are not.
    first = sorted(times[:_SAMPLE])[_SAMPLE // 2] * 1e6
    last = sorted(times[-_SAMPLE:])[_SAMPLE // 2] * 1e6
    measured = f"{first:.0f} → {last:.0f} µs"
    row(f"create, first and last of {_FULL:,}", measured, "growth under a third", good=last < first * 4 / 3)


if __name__ == "__main__":
    main()
