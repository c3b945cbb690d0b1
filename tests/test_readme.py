"""The README and the docs are true: their code runs, their commands and links exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kontend.cli import COMMANDS, main

_ROOT = Path(__file__).parent.parent
_PAGES = [_ROOT / "README.md", _ROOT / "CHANGELOG.md", *sorted((_ROOT / "docs").rglob("*.md"))]
_README = (_ROOT / "README.md").read_text()
_TEN_LINES, _OPERATOR, _UNIT_TEST = re.findall(r"```python\n(.*?)```", _README, re.DOTALL)


def test_the_ten_lines_print_what_they_say() -> None:
    ran = subprocess.run([sys.executable, "-c", _TEN_LINES], capture_output=True, text=True, check=True, timeout=60)
    said = re.search(r"# (Operation .*?) \.\.\.", _TEN_LINES)
    assert said is not None
    assert ran.stdout.startswith(said[1])


def test_the_demo_prints_the_steps_that_are_shown() -> None:
    shown = re.findall(r"^    (blind merge patch:|merge patch locked .*|  [ ►] \d .*|  \S.*)$", _README, re.MULTILINE)
    assert len(shown) == 10
    ran = subprocess.run(
        [sys.executable, _ROOT / "examples" / "double_plan.py"], capture_output=True, text=True, check=True, timeout=60
    )
    printed = ran.stdout.splitlines()
    assert [line for line in shown if not any(other.startswith(line) for other in printed)] == []


def test_the_operator_is_the_example_and_short() -> None:
    """The tests of the runtime run the example, in process and against a server."""
    example = (_ROOT / "examples" / "website_operator.py").read_text()
    assert example.endswith(_OPERATOR)
    assert len(_OPERATOR.splitlines()) < 40


def test_the_unit_test_passes() -> None:
    crd = yaml.safe_load((_ROOT / "examples" / "website_crd.yaml").read_text())
    spec = {"image": "nginx:1", "replicas": 1}
    site = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "home"}, "spec": spec}
    code = f"{_UNIT_TEST}\ntest_a_website_gets_a_deployment({crd!r}, {site!r})"
    subprocess.run([sys.executable, "-c", code], cwd=_ROOT / "examples", check=True, timeout=60)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_in_the_docs_have_the_options_that_they_name(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    known = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    for page in _PAGES:
        for line in re.findall(rf"kontend {command}\b([^`\n|#]*)", page.read_text()):
            own = line.partition(" -- ")[0]  # what follows is another program's
            assert set(re.findall(r"(?<!\S)--[a-z][a-z-]*", own)) <= known, f"{page.name}: kontend {command}{line}"


def test_links_lead_somewhere() -> None:
    """In the README, and in every page of docs."""
    for page in _PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_paths_in_the_architecture_exist() -> None:
    page = (_ROOT / "docs" / "architecture.md").read_text()
    paths = re.findall(r"`((?:src|tests|tools)/[^`]+)`", page)
    assert len(paths) > 10
    assert [path for path in paths if not (_ROOT / path).exists()] == []
