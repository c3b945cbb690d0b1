"""The release: its version, its notes, its workflow."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())


def released(*arguments: str) -> str:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "release.py"), *arguments], capture_output=True, text=True, check=True
    )
    return ran.stdout


def test_the_changelog_has_notes_for_the_version() -> None:
    assert released("version").strip() == PROJECT["version"]
    assert "### Added" in released("notes")


def test_the_wheel_is_checked_on_every_python_that_is_declared() -> None:
    declared = [match[1] for text in PROJECT["classifiers"] if (match := re.fullmatch(r".* :: (3\.\d+)", text))]
    assert WORKFLOW["jobs"]["check"]["strategy"]["matrix"]["python"] == declared
    assert PROJECT["requires-python"] == f">={declared[0]}"


def test_only_the_job_that_publishes_may_write() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    writers = [name for name, job in WORKFLOW["jobs"].items() if job.get("permissions", {}).get("contents") == "write"]
    assert writers == ["publish"]
    assert WORKFLOW["jobs"]["publish"]["needs"] == "check"


@pytest.mark.parametrize(
    "template", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda path: path.stem
)
def test_an_issue_template_has_what_github_needs(template: Path) -> None:
    form: dict[str, Any] = yaml.safe_load(template.read_text())
    assert {"name", "description", "body"} <= set(form)
    assert all({"type", "attributes"} <= set(item) for item in form["body"])


def test_the_development_container_is_built_from_a_file_that_exists() -> None:
    folder = ROOT / ".devcontainer"
    described = json.loads((folder / "devcontainer.json").read_text())
    assert (folder / described["build"]["dockerfile"]).is_file()
