"""Tests of builds: what is missing or wrong is named, with the way out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kontend.explore.golang.build import go_tests, module_directory
from kontend.explore.golang.toolchain import run_go, workspace_replacements
from kontend.explore.problems import BadScenario


def _fake_go(directory: Path, script: str) -> None:
    """A command go that prints what a shell script says."""
    go = directory / "go"
    go.write_text(f"#!/bin/sh\n{script}\n")
    go.chmod(0o755)


def test_a_missing_toolchain_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadScenario, match=r"there is no command go: install Go 1\.25 or newer"):
        go_tests(tmp_path)


def test_an_old_toolchain_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_go(tmp_path, """echo '{"GOMOD": "/x/go.mod", "GOVERSION": "go1.24.7"}'""")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(BadScenario, match=r"go1\.24\.7 is too old"):
        go_tests(tmp_path)


def test_a_directory_outside_of_modules_is_refused(operators: Path, tmp_path: Path) -> None:
    assert operators.exists()
    with pytest.raises(BadScenario, match=r"there is no go\.mod here or above"):
        go_tests(tmp_path)


@pytest.fixture
def package(operators: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a package, in a module of its own."""
    monkeypatch.setenv("KONTEND_CACHE", str(tmp_path / "cache"))
    shutil.copytree(operators, tmp_path / "module")
    return tmp_path / "module" / "doubleplan"


def test_an_old_controller_runtime_is_named(package: Path) -> None:
    module = package.parent / "go.mod"
    module.write_text("module example.com/operators\n\ngo 1.25.0\n\nrequire sigs.k8s.io/controller-runtime v0.18.4\n")
    with pytest.raises(BadScenario, match=r"controller-runtime v0\.18\.4 is too old to be explored|cannot be built"):
        go_tests(package)


def test_a_module_without_controllers_is_named(operators: Path, tmp_path: Path) -> None:
    assert operators.exists()
    (tmp_path / "go.mod").write_text("module example.com/empty\n\ngo 1.25.0\n")
    with pytest.raises(BadScenario, match="neither controller-runtime nor client-go is among the requirements"):
        go_tests(tmp_path)


def test_a_module_with_an_old_client_go_is_named(operators: Path, tmp_path: Path) -> None:
    assert operators.exists()
    text = "module example.com/old\n\ngo 1.25.0\n\nrequire k8s.io/client-go v0.30.1\n"
    (tmp_path / "go.mod").write_text(text)
    with pytest.raises(BadScenario, match=r"client-go v0\.30\.1 is too old to be explored: it takes v0\.31 or newer"):
        go_tests(tmp_path)


def test_a_workspace_is_built_from_its_other_modules(operators: Path, tmp_path: Path) -> None:
    assert operators.exists()
    for name in ("operator", "lib"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "go.mod").write_text(f"module example.com/{name}\n\ngo 1.25.0\n")
    replaced = "replace example.com/x => ./x\nreplace example.com/y v1.0.0 => example.com/z v1.2.0\n"
    (tmp_path / "go.work").write_text(f"go 1.25.0\n\nuse ./operator\nuse ./lib\n\n{replaced}")
    assert workspace_replacements(tmp_path / "operator") == [
        f"-replace=example.com/x={tmp_path / 'x'}",
        "-replace=example.com/y@v1.0.0=example.com/z@v1.2.0",
        f"-replace=example.com/lib={tmp_path / 'lib'}",
    ]


def test_a_directory_without_a_workspace_replaces_nothing(operators: Path) -> None:
    assert workspace_replacements(operators) == []


def test_a_build_error_is_shown(package: Path) -> None:
    (package / "reconciler.go").write_text("package doubleplan\n\nfunc broken( {\n")
    with pytest.raises(BadScenario, match=r"(?s)the tests cannot be built:.*reconciler\.go:3"):
        go_tests(package)


def test_a_package_without_a_test_that_explores_is_refused(package: Path) -> None:
    (package / "explore_test.go").unlink()
    with pytest.raises(BadScenario, match="kontend init --go writes one"):
        go_tests(package)


def test_a_test_that_its_build_constraint_leaves_out_is_named(package: Path) -> None:
    test = package / "explore_test.go"
    test.write_text(test.read_text().replace("//go:build kontend && ignore", "//go:build integration"))
    with pytest.raises(BadScenario, match=r"explore_test\.go: its build constraint leaves it out"):
        go_tests(package)


def test_a_test_in_package_main_is_explored(operators: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTEND_CACHE", str(tmp_path / "cache"))
    shutil.copytree(operators, tmp_path / "module")
    command = tmp_path / "module" / "command"
    (tmp_path / "module" / "doubleplan").rename(command)
    for file in command.glob("*.go"):
        file.write_text(file.read_text().replace("package doubleplan", "package main"))
    (command / "main.go").write_text("package main\n\nfunc main() {}\n")
    assert [test.name for test in go_tests(command)] == ["TestExploreBlind", "TestExploreLocked"]


def test_go_mod_tidy_leaves_a_test_alone(package: Path) -> None:
    before = (package.parent / "go.mod").read_bytes()
    run_go(["mod", "tidy"], package.parent, {"GOFLAGS": "-mod=mod", "GOPROXY": "off"})
    assert (package.parent / "go.mod").read_bytes() == before


def test_the_users_go_mod_stays_as_it_is(package: Path) -> None:
    before = (package.parent / "go.mod").read_bytes(), (package.parent / "go.sum").read_bytes()
    assert len(go_tests(package)) == 2
    assert before == ((package.parent / "go.mod").read_bytes(), (package.parent / "go.sum").read_bytes())


def test_the_module_has_no_code_of_tests_in_it() -> None:
    assert (module_directory() / "explore.go").exists()
    assert not list(module_directory().glob("*_test.go"))
