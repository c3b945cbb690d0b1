"""Measures ``kontend serve`` with 100,000 objects: the start, lists with selectors, and pages."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.serve import Target, serving
from benchmarks.table import row

OBJECTS = 100_000
_LABELS = 50
_NAMESPACES = 20


def _write(path: Path) -> None:
    items = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"c{number:06}",
                "namespace": f"n{number % _NAMESPACES}",
                "labels": {"app": f"a{number % _LABELS}"},
            },
            "data": {"key": "v" * 200},
        }
        for number in range(OBJECTS)
    ]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def _list(target: Target, query: str) -> Any:
    with urllib.request.urlopen(f"{target.url}/api/v1/configmaps?{query}") as answer:
        return json.load(answer)


def _processor_time(target: Target, work: Callable[[], object]) -> float:
    """Milliseconds that the server works for; a client that reads JSON would count several times as many."""
    before = target.processor_time()
    work()
    return (target.processor_time() - before) * 1e3


def main() -> None:
    """Print the table."""
    print(f"kontend serve with {OBJECTS:,} objects, milliseconds of processor time")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "objects.json")
        _write(path)
        with serving("--objects", str(path), "--no-bootstrap") as target:
            start = target.started_with
            row("start", f"{start:.1f} s", "under 10 s", good=start < 10)
            for name, query, most in (
                ("list of all, first", "", 1500),
                ("list of all, again", "", 500),
                (f"labels that one in {_LABELS} has, first", "labelSelector=app%3Da7", 1500),
                (f"labels that one in {_LABELS} has, again", "labelSelector=app%3Da8", 60),
                ("500 of those that a label is not", "labelSelector=app%21%3Da7&limit=500", 60),
                ("a namespace, as a field", "fieldSelector=metadata.namespace%3Dn3", 100),
                ("a name, as a field", "fieldSelector=metadata.name%3Dc000007", 20),
            ):
                taken = _processor_time(target, lambda query=query: _list(target, query))  # type: ignore[misc]
                row(name, f"{taken:.0f} ms", f"under {most} ms", good=taken < most)
            pages, token = [], ""
            while True:
                began = time.perf_counter()
                metadata = _list(target, f"limit=500&continue={token}")["metadata"]
                pages.append((time.perf_counter() - began) * 1e3)
                token = metadata.get("continue", "")
                if not token:
                    break
            first, last = statistics.median(pages[:20]), statistics.median(pages[-20:])
            row("pages of 500: an early, a late one", f"{first:.1f}, {last:.1f} ms", "the same", good=last < 2 * first)


if __name__ == "__main__":
    main()
