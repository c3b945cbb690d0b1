"""The workflow snippets of the manual: valid YAML, and every command in them does what the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "ci.md"
#: The steps of a workflow that say what is done; everything else in a step qualifies it.
_STEP_KEYS = {"uses", "run", "with", "if", "name", "env", "id", "shell"}
_REQUIREMENT = re.compile(r"[a-z][a-z0-9-]*(\[[a-z,]+\])?")


def snippets(page: Path) -> list[Any]:
    """The YAML blocks of a page."""
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)]


def steps(page: Path) -> list[dict[str, Any]]:
    """The steps of all workflows of a page."""
    all_steps: list[dict[str, Any]] = []
    for snippet in snippets(page):
        if isinstance(snippet, list):
            all_steps += snippet
        elif "jobs" in snippet:
            all_steps += [step for job in snippet["jobs"].values() for step in job["steps"]]
    return all_steps


def commands(page: Path, word: str) -> list[str]:
    """The commands of the workflows that begin with a word, and those in the text of the page."""
    listed = [step["run"] for step in steps(page) if "run" in step]
    inline = re.findall(r"`(kontend [^`]+)`", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    return [command for command in (*listed, *inline) if command.split()[0] == word or command.startswith(word)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with an operator that has a race, a test that explores it, and a branch to compare with."""
    root = tmp_path_factory.mktemp("project")
    (root / "operators").mkdir()
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["operators"]\n')
    (root / "README.md").write_text("An operator.\n")
    _git(root, "init", "--quiet", "--initial-branch=main")
    _git(root, "add", ".")
    _git(root, "commit", "--quiet", "--message", "first")
    _git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
    shutil.copy(ROOT / "examples" / "double_plan.py", root / "operators" / "double_plan.py")
    (root / "test_plans.py").write_text(
        "from kontend.explore import check\nfrom double_plan import blind\n\n\n"
        "def test_no_race() -> None:\n    assert check(blind)\n"
    )
    _git(root, "add", ".")
    _git(root, "commit", "--quiet", "--message", "second")
    return root


def _git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def run(command: str, project: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the page as a workflow's shell does, with its expressions replaced."""
    command = command.replace("${{ github.base_ref }}", "main")
    assert "${{" not in command
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command],
        cwd=project,
        env={**os.environ, "PATH": path, "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("page", [PAGE, ROOT / "docs" / "audit.md"], ids=lambda page: page.name)
def test_the_workflows_are_valid(page: Path) -> None:
    page_steps = steps(page)
    assert page_steps
    for step in page_steps:
        assert ("uses" in step) != ("run" in step), step
        assert set(step) <= _STEP_KEYS, step
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w./-]+@v\d+", step["uses"]), step
            assert isinstance(step.get("with", {}), dict)
    installs = [step["run"].split() for step in page_steps if step.get("run", "").startswith("pip ")]
    assert installs
    for words in installs:
        assert words[:2] == ["pip", "install"]
        assert all(_REQUIREMENT.fullmatch(word) for word in words[2:])
        assert "kontend" in words


def test_the_hook_of_the_audit_page_exists() -> None:
    (configuration,) = [snippet for snippet in snippets(ROOT / "docs" / "audit.md") if "repos" in snippet]
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert {hook["id"] for repository in configuration["repos"] for hook in repository["hooks"]} <= hooks


def test_the_tests_of_a_workflow_leave_what_it_uploads(project: Path) -> None:
    (command,) = commands(PAGE, "pytest")
    done = run(command, project)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "lost update, one_plan: violated" in done.stdout
    assert (project / "junit.xml").is_file()
    (upload,) = [step for step in steps(PAGE) if "upload-artifact" in step.get("uses", "")]
    assert upload["if"] == "failure()"
    kept = list((project / upload["with"]["path"]).rglob("*.zip"))
    assert kept
    assert all(file.with_suffix(".html").is_file() for file in kept)
    (replay,) = commands(PAGE, "kontend replay")
    replayed = run(replay.replace("FILE.zip", str(kept[0])), project)
    assert replayed.returncode == 1, replayed.stdout + replayed.stderr
    assert "lost update" in replayed.stdout


def test_the_exploration_of_a_directory_writes_its_files(project: Path) -> None:
    (command,) = commands(PAGE, "kontend explore")
    done = run(command, project)
    assert done.returncode == 1, done.stdout + done.stderr
    assert list((project / "failures").glob("lost-update-*.zip"))
    assert (project / "report.html").stat().st_size > 10_000


def test_the_auditor_of_a_workflow_annotates_what_a_branch_has_changed(project: Path) -> None:
    (command,) = [command for command in commands(PAGE, "kontend audit") if "--diff" in command]
    done = run(command, project)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"^::(error|warning) file=operators/double_plan\.py,line=\d+", done.stdout, re.MULTILINE)


def test_the_auditor_writes_the_file_that_code_scanning_reads(project: Path) -> None:
    page = ROOT / "docs" / "audit.md"
    (command,) = [step["run"] for step in steps(page) if "sarif" in step.get("run", "")]
    done = run(command, project)
    assert done.returncode == 1, done.stdout + done.stderr
    (upload,) = [step for step in steps(page) if "upload-sarif" in step.get("uses", "")]
    assert '"version": "2.1.0"' in (project / upload["with"]["sarif_file"]).read_text()


def test_the_command_for_envtest_prints_a_directory(project: Path) -> None:
    (command,) = re.findall(r"KUBEBUILDER_ASSETS=\$\((kontend envtest)\)", PAGE.read_text())
    done = run(command, project)
    assert done.returncode == 0, done.stderr
    assert {"kube-apiserver", "etcd", "kubectl"} <= {file.name for file in Path(done.stdout.strip()).iterdir()}
