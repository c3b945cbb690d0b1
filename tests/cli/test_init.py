"""``kontend init``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kontend.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Adds one to a counter without a lock: an update by another instance gets lost.
COUNTERS = """
import copy
from kontend import Controller, merge_from

class Counters(Controller):
    kind = "Counter.example.com/v1"

    async def reconcile(self, request, api):
        counter = await api.get(self.kind, request)
        base = copy.deepcopy(counter)
        status = counter.setdefault("status", {})
        if status.get("owner") is None:
            status["owner"] = api.uuid()
            await api.status.patch(counter, merge_from(base, lock=False))
"""
CALM = """
from kontend import Controller

class Calm(Controller):
    kind = "ConfigMap/v1"

    async def reconcile(self, request, api):
        await api.list(self.kind)
"""


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a file makes its directory importable, which must not outlast a test."""
    monkeypatch.setattr(sys, "path", [*sys.path])


def pytest_in(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=300)


def test_the_test_of_a_sound_controller_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "calm.py").write_text(CALM)
    assert main(["init", str(tmp_path / "calm.py")]) == 0
    assert "Next: kontend explore" in capsys.readouterr().out
    assert main(["explore", str(tmp_path / "calm_scenarios.py"), "--one-process"]) == 0
    ran = pytest_in(tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "4 passed" in ran.stdout


def test_the_test_of_a_racy_controller_fails_with_the_cause(tmp_path: Path) -> None:
    """In a package, from its parent, with the kind accepting everything; definitions in files are named."""
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "counters.py").write_text(COUNTERS)
    assert main(["init", str(package / "counters.py")]) == 0
    assert 'permissive_crd("Counter.example.com/v1")' in (package / "counters_scenarios.py").read_text()
    assert "from .counters import Counters" in (package / "counters_scenarios.py").read_text()
    for options in ((), ("--import-mode=importlib",)):
        ran = pytest_in(tmp_path, *options)
        assert ran.returncode == 1, ran.stdout
        assert "status.owner" in ran.stdout
        assert "Fix at shop/counters.py:14" in ran.stdout


def test_definitions_in_files_are_named_by_their_path(tmp_path: Path) -> None:
    """A relative path, so that the project can be moved."""
    for name in ("website_operator.py", "website_crd.yaml"):
        (tmp_path / name).write_text((EXAMPLES / name).read_text())
    assert main(["init", str(tmp_path / "website_operator.py")]) == 0
    written = (tmp_path / "website_operator_scenarios.py").read_text()
    assert 'crds=["website_crd.yaml"]' in written
    assert '"image": "example"' in written
    ran = pytest_in(tmp_path, "-k", "one_instance")
    assert ran.returncode == 0, ran.stdout


def test_files_are_never_overwritten_without_asking(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "calm.py").write_text(CALM)
    test = tmp_path / "test_calm_scenarios.py"
    test.write_text("mine")
    assert main(["init", str(tmp_path / "calm.py")]) == 2
    assert "test_calm_scenarios.py exists already; nothing is written" in capsys.readouterr().err
    assert not (tmp_path / "calm_scenarios.py").exists()
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    for answer, code in (("n\n", 2), ("y\n", 0)):
        monkeypatch.setattr(sys.stdin, "readline", lambda answer=answer: answer)
        assert test.read_text() == "mine"
        assert main(["init", str(tmp_path / "calm.py")]) == code
    assert "check(one_instance)" in test.read_text()
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
    assert main(["init", str(tmp_path / "calm.py"), "--force"]) == 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("operator.py", CALM, "Python has a module operator of its own"),
        ("my-calm.py", CALM, "rename it, such as my_calm.py"),
        ("nothing.py", "x = 1\n", "the file defines no Controller"),
        ("missing.py", None, "no such file"),
        ("done.py", f"{CALM}\nfrom kontend.explore import Scenario\nx = Scenario([Calm()])\n", "scenarios already"),
    ],
)
def test_files_for_which_nothing_can_be_written_are_refused(
    name: str, content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    assert main(["init", str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.glob("*scenarios*")) == []
