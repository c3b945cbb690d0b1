"""Ray and Dask for tests, which skip where they are not installed, unless ``KONTEND_ENGINES=required`` is set."""

from __future__ import annotations

import importlib
import linecache
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from kontend.runtime.source_location import SourceLocation
from kontend.runtime.user_file import load_file
from kontend.runtime.user_sources import UserCode

_PACKAGES = {"ray": "ray", "dask": "distributed"}


def needs(engine: str) -> None:
    """Skip a test where an engine is not installed; in CI, fail."""
    if find_spec(_PACKAGES[engine]) is None:
        assert os.environ.get("KONTEND_ENGINES") != "required", f"{engine} is not installed: make engines"
        pytest.skip(f"{engine} is not installed: make engines")


#: A scenario file with things that cannot be pickled, and a module beside it.
SCENARIO = """
import copy
import threading

import beside
from kontend import Controller, merge_from
from kontend.explore import Bounds, Scenario, never, update

LOCK = threading.Lock()


class Widgets(Controller):
    kind = "ConfigMap/v1"

    def __init__(self):
        self._lock = threading.Lock()

    async def reconcile(self, request, api):
        obj = await api.get(self.kind, request)
        base = copy.deepcopy(obj)
        with LOCK, self._lock:
            obj["data"]["seen"] = beside.seen(obj)
        await api.patch(obj, merge_from(base))


OBJECT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "default"},
    "data": {"size": "1"},
}


def outdated(cluster):
    data = cluster.get("ConfigMap/v1", "a")["data"]
    return data.get("seen") == "1" and data["size"] == "3"


race = Scenario(
    [Widgets()],
    objects=[OBJECT],
    actions=[update(OBJECT, data={"size": "2"}), update(OBJECT, data={"size": "3"})],
    bounds=Bounds(lag=1, faults=1, concurrent=2, states=STATES),
    properties=[never(lambda cluster: LOCK.locked() or outdated(cluster), name="outdated")],
)
"""
BESIDE = """
def seen(obj):
    return obj["data"].get("size", "")
"""


def project(directory: Path, *, states: int = 400) -> Path:
    """Write a project with a scenario file, and return its path."""
    package = directory / "operators"
    package.mkdir(parents=True)
    (package / "scenario.py").write_text(SCENARIO.replace("STATES", str(states)))
    (package / "beside.py").write_text(BESIDE)
    return package / "scenario.py"


def marked_processes(mark: str) -> dict[int, str]:
    """The commands of all processes with a mark in their environment, by process id."""
    marked = {}
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and mark.encode() in (process / "environ").read_bytes():
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if command:  # it has not ended
                    marked[int(process.name)] = command
        except OSError:
            continue
    return marked


#: Tests that look for processes, and the commands of the workers of an engine.
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
WORKERS = {"ray": "ray::RemoteShard", "dask": "spawn_main"}


def loaded(code: UserCode, path: str) -> tuple[str, str, str, str, str]:
    """Import a file that was sent, in another process."""
    code.install()
    module = load_file(path)
    thing = importlib.import_module(module.__name__).Thing
    line = linecache.getline(str(module.__file__), 5).strip()
    return module.__name__, module.name, thing.where, line, str(SourceLocation(str(module.__file__), 5))
