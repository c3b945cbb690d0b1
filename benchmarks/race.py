"""Measure how fast `kontend race` reads a log: a file that is given, or 64 MB of generated events.

python benchmarks/race.py [FILE]
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kontend.race.analysis import Options, analyse
from kontend.race.log.log_files import Reading, events_of

_BYTES = 64 << 20
_START = 1_794_787_200.0


def generate(path: Path, size: int) -> None:
    """Write reads and writes of a thousand Deployments by ten controllers, each event of three kilobytes."""
    written, number = 0, 0
    with path.open("w") as file:
        while written < size:
            event = _event(number)
            written += file.write(json.dumps(event) + "\n")
            number += 1


def _event(number: int) -> dict[str, Any]:
    name, verb = f"web-{number % 1000}", ("get", "update", "patch")[number % 3]
    at = datetime.fromtimestamp(_START + number / 100, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    containers = [{"name": f"c{at}", "image": f"example.com/image:{number}", "args": ["x" * 60] * 4} for at in range(4)]
    metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(number + 1)}
    obj = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": number % 7, "template": {"spec": {"containers": containers}}},
        "status": {"observedGeneration": number},
    }
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "stage": "ResponseComplete",
        "requestURI": f"/apis/apps/v1/namespaces/default/deployments/{name}",
        "verb": verb,
        "user": {"username": f"system:serviceaccount:demo:controller-{number % 10}"},
        "sourceIPs": ["10.0.0.1"],
        "userAgent": "controller/v1",
        "objectRef": {
            "resource": "deployments",
            "namespace": "default",
            "name": name,
            "apiGroup": "apps",
            "apiVersion": "v1",
        },
        "responseStatus": {"metadata": {}, "code": 200},
        **({"requestObject": obj} if verb != "get" else {}),
        "responseObject": obj,
        "requestReceivedTimestamp": at,
        "stageTimestamp": at,
    }


def main(arguments: Sequence[str] = ()) -> int:
    """Print megabytes, seconds of one core, and the time and memory for a gigabyte."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(arguments[0]) if arguments else Path(scratch, "audit.log")
        if not arguments:
            generate(path, _BYTES)
        megabytes = path.stat().st_size / 1e6
        began = time.process_time()
        reading = Reading()
        analyse(events_of([str(path)], reading), Options())
        spent = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{megabytes:.0f} MB, {reading.events:,} events: {spent:.1f} s of one core, {memory:.0f} MB of memory")
    print(f"{megabytes / spent:.1f} MB a second; a gigabyte in {1000 * spent / megabytes:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
