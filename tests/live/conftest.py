"""Runs ``kontend live`` on the subjects of this directory."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from kontend.cluster.startup import manifests
from kontend.cluster.startup.seed import empty_state
from kontend.live.campaign import Campaign, Options
from kontend.live.process import pod_files
from kontend.live.process.command import Command
from kontend.live.process.quiescence import Patience
from kontend.live.runs.setting import Setting
from kontend.live.runs.workload import Workload, read_actions
from kontend.live.verdicts.verdict import Verdict

HERE = Path(__file__).parent
SUBJECTS = HERE / "subjects"
#: Programs that run in processes of their own.
collect_ignore_glob = ["subjects/*"]


def setting(
    command: list[str], actions: str = "", *, limit: float = 20.0, patience: float = 0.5, **environment: str
) -> Setting:
    """A command, the definitions of this directory, and actions from a file in it."""
    state, _ = manifests.store_all(empty_state(), manifests.read_definitions([HERE / "crds.yaml"]), manager="kontend")
    steps = read_actions(SUBJECTS / actions) if actions else ()
    return Setting(Command(tuple(command), HERE, environment), Workload(state, steps), Patience(patience, limit))


def python(name: str, *arguments: str) -> list[str]:
    """The command of a Python subject."""
    return [sys.executable, str(SUBJECTS / name), *arguments]


def explore(given: Setting, **options: object) -> Verdict:
    """The verdict on a subject."""

    async def campaign() -> Verdict:
        return await Campaign(given, Options(**options)).explore()  # type: ignore[arg-type]

    return asyncio.run(campaign())


def can_mount() -> bool:
    """Say if this machine lets a process have mounts of its own."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import pod_files; pod_files.enter()"
    command = [sys.executable, "-S", "-c", code, str(Path(pod_files.__file__).parent)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def fitter() -> Path:
    """The operator in Go, where tools/build_clients.py puts it: its name says from which sources it was built."""
    files = sorted(path for path in (HERE / "go").iterdir() if path.name.startswith("go.") or path.suffix == ".go")
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
    found = Path.home() / ".cache" / "kontend" / f"fitter-{digest}"
    if not found.exists():
        pytest.skip("the Go operator is not built: run tools/build_clients.py")
    return found
