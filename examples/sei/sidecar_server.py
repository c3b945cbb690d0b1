"""Simulates the sidecars of all nodes in one process: ``python examples/sei/sidecar_server.py --port 7777``.

A task runs for one query, and is complete at the next. ``GET /executions`` says how often each command of each node was
executed; ``POST /lose-tasks`` forgets all tasks, as a sidecar without a disk does when it restarts.
"""

from __future__ import annotations

import argparse
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Tasks:
    """The tasks of all sidecars, by node and id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], dict[str, Any]] = {}
        self._ready: set[str] = set()
        self.executions: Counter[str] = Counter()

    def submit(self, node: str, task_id: str, command: str) -> dict[str, Any]:
        """Execute a task, unless its id is known."""
        with self._lock:
            if (node, task_id) not in self._known:
                self._known[node, task_id] = {"id": task_id, "type": command, "status": "Running"}
                self.executions[f"{node} {command}"] += 1
                if command == "mark-ready":
                    self._ready.add(node)
            return dict(self._known[node, task_id])

    def query(self, node: str, task_id: str) -> dict[str, Any] | None:
        """Return a task as it is now; it is complete from then on."""
        with self._lock:
            task = self._known.get((node, task_id))
            if task is None:
                return None
            now = dict(task)
            task["status"] = "Completed"
            return now

    def status(self, node: str) -> dict[str, Any]:
        """Return the state of a node."""
        with self._lock:
            return {"ready": node in self._ready, "caughtUp": node in self._ready}

    def lose(self) -> None:
        """Forget all tasks."""
        with self._lock:
            self._known.clear()
            self._ready.clear()


class Handler(BaseHTTPRequestHandler):
    """``/NAMESPACE/NAME/tasks/ID`` and ``/NAMESPACE/NAME/status``."""

    tasks = Tasks()

    def do_PUT(self) -> None:
        """Submit a task."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        node, _, task_id = self.path.strip("/").rpartition("/tasks/")
        self._answer(200, self.tasks.submit(node, task_id, body["type"]))

    def do_POST(self) -> None:
        """Lose all tasks."""
        self.tasks.lose()
        self._answer(200, {})

    def do_GET(self) -> None:
        """Answer a query."""
        path = self.path.strip("/")
        if path == "executions":
            return self._answer(200, dict(self.tasks.executions))
        if path.endswith("/status"):
            return self._answer(200, self.tasks.status(path.removesuffix("/status")))
        node, _, task_id = path.rpartition("/tasks/")
        task = self.tasks.query(node, task_id)
        return self._answer(404 if task is None else 200, task or {"error": "no such task"})

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _answer(self, code: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    """Serve until the process is stopped; the first line of the output is the address."""
    parser = argparse.ArgumentParser(description="Simulate the sidecars of all nodes.")
    parser.add_argument("--port", type=int, default=7777, help="0 for a free one (default: 7777)")
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
