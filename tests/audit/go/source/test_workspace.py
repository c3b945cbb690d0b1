"""Callers in a tree of modules: files are parsed as they are asked for, and trees are dropped on the way."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from kontend.audit.go.source import workspace as module
from kontend.audit.go.source.package import GoFile, GoFunction, Memory
from kontend.audit.go.source.types import callers, calling_functions
from kontend.audit.go.source.workspace import Workspace

_CALLEE = "package work\n\ntype Worker struct{}\n\nfunc (w *Worker) Run(n int) {}\n"
_CALLER = 'package use{0}\n\nimport "example.com/a/work"\n\nfunc Use(w *work.Worker) {{ w.Run({0}) }}\n'


def _workspace(root: Path, files: dict[str, str]) -> Workspace:
    memory = Memory()
    known: dict[str, GoFile] = {}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if path.suffix == ".go":
            known[str(path)] = GoFile(str(path), None, str(path.parent), memory=memory)
    return Workspace(known, memory)


def _run(workspace: Workspace, root: Path) -> GoFunction:
    (function,) = workspace.files[str(root / "a/work/work.go")].functions
    return function


def _many(root: Path, callers: int) -> Workspace:
    files = {"a/go.mod": "module example.com/a\n", "a/work/work.go": _CALLEE}
    files |= {f"a/use{number}/use.go": _CALLER.format(number) for number in range(callers)}
    return _workspace(root, files)


def test_files_are_parsed_only_as_far_as_callers_are_asked_for(tmp_path: Path) -> None:
    workspace = _many(tmp_path, 9)
    assert len(list(islice(callers(workspace, _run(workspace, tmp_path)), 2))) == 2
    parsed = [path for path, file in workspace.files.items() if "root" in vars(file)]
    assert len(parsed) == 3, "the callee and two callers"


def test_callers_asked_for_twice_are_the_same(tmp_path: Path) -> None:
    workspace = _many(tmp_path, 3)
    function = _run(workspace, tmp_path)
    first = list(islice(callers(workspace, function), 1))
    every = list(callers(workspace, function))
    assert every[:1] == first
    assert len(every) == 3


def test_calling_functions_are_the_same_when_trees_are_dropped_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = _many(tmp_path, 5)
    key = _run(workspace, tmp_path).key
    kept = calling_functions(workspace, key)
    monkeypatch.setattr(module, "_MANY", 1)
    assert calling_functions(workspace, key) == kept
    assert len(kept) == 5
    parsed = [path for path, file in workspace.files.items() if "root" in vars(file)]
    assert len(parsed) <= 2, "the callee and the last caller"


@pytest.mark.parametrize(
    ("mine", "other", "found"),
    [
        ("module example.com/a\n", "module example.com/b\n", False),
        ("module example.com/a\n", "module example.com/b\n\nrequire example.com/a v1.0.0\n", True),
        ("module example.com/a\n\nrequire example.com/b v0.1.0\n", "module example.com/b\n", True),
    ],
)
def test_a_method_is_called_only_from_modules_that_know_of_each_other(
    tmp_path: Path, mine: str, other: str, *, found: bool
) -> None:
    interface = "package b\n\ntype Runner interface{ Run(n int) }\n\nfunc All(r Runner) { r.Run(1) }\n"
    files = {"a/go.mod": mine, "a/work/work.go": _CALLEE, "b/go.mod": other, "b/b.go": interface}
    workspace = _workspace(tmp_path, files)
    assert bool(list(callers(workspace, _run(workspace, tmp_path)))) is found


def test_a_type_is_the_same_in_its_own_package_and_where_it_is_imported(tmp_path: Path) -> None:
    callee = "package work\n\ntype Task struct{}\n\ntype Worker struct{}\n\nfunc (w *Worker) Run(t *Task) {}\n"
    interface = (
        'package use\n\nimport "example.com/a/work"\n\ntype Runner interface{ Run(t *work.Task) }\n\n'
        "func All(r Runner) { r.Run(nil) }\n"
    )
    files = {"a/go.mod": "module example.com/a\n", "a/work/work.go": callee, "a/use/use.go": interface}
    workspace = _workspace(tmp_path, files)
    (call,) = callers(workspace, _run(workspace, tmp_path))
    assert call[0].path.endswith("use.go")
