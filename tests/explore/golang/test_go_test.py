"""Tests of ``go test`` on a package that requires the module."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(operators: Path, tmp_path: Path) -> Path:
    """A copy of the operators whose go.mod requires the module, with tests that are always built."""
    project = tmp_path / "project"
    shutil.copytree(operators, project)
    test = project / "doubleplan" / "explore_test.go"
    test.write_text(test.read_text().removeprefix("//go:build kontend && ignore\n"))
    module = "kontend.dev/kontend"
    _go(project, "mod", "edit", f"-require={module}@v0.0.0", f"-replace={module}={ROOT / 'go'}")
    return project


def _go(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    cache = str(project.parent / "cache")
    environment = {
        **os.environ,
        "PATH": path,
        "KONTEND_CACHE": cache,
        "GOFLAGS": "-mod=mod",
        "GOWORK": "off",
        **variables,
    }
    return subprocess.run(["go", *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False)


def test_go_test_skips_and_says_why(project: Path) -> None:
    done = _go(project, "test", "-vet=off", "-v", "./doubleplan", KONTEND="")
    assert done.returncode == 0
    assert done.stdout.count("SKIP: TestExplore") == 2
    assert "set KONTEND=1" in done.stdout


def test_go_test_fails_with_the_explanation(project: Path) -> None:
    done = _go(project, "test", "-vet=off", "-v", "-run", "Blind", "./doubleplan", KONTEND="1")
    assert done.returncode == 1
    assert "FAIL: TestExploreBlind" in done.stdout
    assert "lost update: violated after 6 steps" in done.stdout
