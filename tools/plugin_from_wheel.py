"""Tries the pytest plugin as a user has it: from an installed wheel, in a project outside the checkout.

    python tools/plugin_from_wheel.py build/wheel/bin/python

The environment needs pytest, pytest-xdist and pytest-html. The project has a test with the bug of a blind patch and one
of its fixed twin. It is run twice, and with the fixed operator: the failure is explained, kept, replayed, attached to
the reports of JUnit and pytest-html, and passes when the bug is fixed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

OPERATOR = """
import copy
from kontend import Controller, Guards, merge_from
from kontend.explore import Bounds, Scenario

class Counter(Controller):
    kind = "ConfigMap/v1"
    name = "counter"

    def __init__(self, lock):
        self.lock = lock

    async def reconcile(self, request, api):
        found = await api.get(self.kind, request)
        if "count" in (found.get("data") or {}):
            return
        base = copy.deepcopy(found)
        found["data"] = {"count": api.uuid()}
        await api.patch(found, merge_from(base, lock=self.lock))

def scenario(lock):
    return Scenario(
        controllers=[Counter(lock)],
        objects=[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}],
        bounds=Bounds(lag=1, concurrent=2, faults=0),
        guards=Guards(read_your_writes=False, locked_status=False, fencing=False),
    )
"""
TESTS = """
import pytest
from kontend.explore import check
from operators import scenario

def test_bare():
    check(scenario(LOCK))

def test_asserted():
    assert check(scenario(LOCK))

def test_assigned():
    verdict = check(scenario(LOCK))
    assert verdict is not None

@pytest.mark.explore(lag=1)
def test_marked():
    return scenario(LOCK)

def test_fixed():
    check(scenario(True))

def test_cluster(cluster):
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})

def test_server(kontend_server):
    assert kontend_server.url
"""


def main(python: str) -> int:
    """Run the project with an interpreter; returns the exit code."""
    with tempfile.TemporaryDirectory(prefix="kontend-plugin-") as directory:
        project = Path(directory)
        (project / "operators.py").write_text(OPERATOR)
        for options in ([], ["-n", "2"]):
            (project / "test_it.py").write_text(TESTS.replace("LOCK", "False"))
            text = _pytest(
                python, project, [*options, "--junitxml=junit.xml", "--html=report.html"], failed=3, passed=4
            )
            _expect("wrote data.count" in text, "the message is not the explanation", text)
            _expect("Verdict object" not in text, "the message is a repr", text)
            kept = sorted((project / ".kontend").glob("*/*.html"))
            _expect(len(kept) == 3, f"expected 3 kept pages, found {len(kept)}", text)
            junit = (project / "junit.xml").read_text()
            _expect(junit.count("kontend_page") == 3, "JUnit's report does not name the pages", junit)
            report = unescape((project / "report.html").read_text())
            _expect(all(page.name in report for page in kept), "pytest-html does not link the pages", report)
        again = _pytest(python, project, [], failed=3, passed=4)
        _expect("instead of searching" in again, "the kept failure was not followed first", again)
        (project / "test_it.py").write_text(TESTS.replace("LOCK", "True"))
        _pytest(python, project, [], failed=0, passed=7)
    sys.stdout.write(f"the plugin works from the wheel, with {python}\n")
    return 0


def _pytest(python: str, project: Path, options: list[str], *, failed: int, passed: int) -> str:
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=300, check=False)
    text = done.stdout + done.stderr
    counts = f"{failed} failed, {passed} passed" if failed else f"{passed} passed"
    _expect(counts in text, f"expected {counts}", text)
    return text


def _expect(holds: bool, message: str, text: str) -> None:
    if not holds:
        sys.exit(f"{message}:\n{text}")


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).absolute())))
