"""Builds the tests of a Go package together with the Go module of kontend.

The user's go.mod stays as it is: a copy of it, in a directory of our own, requires the module and replaces it by a copy
of the one that we carry. That copy has no requirements, so that the user's versions of all other modules are built.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import orjson

from kontend.explore.golang.patching import patch_binary
from kontend.explore.golang.process import GoTest
from kontend.explore.golang.toolchain import (
    GoFailed,
    module_file,
    requirements,
    run_go,
    version_in,
    workspace_replacements,
)
from kontend.explore.problems import BadScenario

#: The import path of the module.
MODULE: Final = "kontend.dev/kontend"
_RUNTIME: Final = "sigs.k8s.io/controller-runtime"
_CLIENT: Final = "k8s.io/client-go"
_OLDEST: Final = (0, 19)
#: A minor version of client-go, less the one of controller-runtime that is made with it.
_AHEAD: Final = 12
#: Build tags of our files for what controller-runtime has only had since a version.
_SINCE: Final = {(0, 22): "kontend_cr22", (0, 23): "kontend_cr23"}
_TAG: Final = "kontend"
#: The constraint of a test that go mod tidy leaves alone: it takes every tag as given but this one, and would look for
#: our module, which is nowhere but here.
_UNSEEN: Final = re.compile(r"^(//go:build .*?)\bignore\b", re.MULTILINE)
#: Tests that are explored unless others are named.
_NAMED: Final = "TestExplore.*"
#: Seconds that a test binary may take to list its tests.
_PATIENCE: Final = 120
#: The variable that tells other processes that a binary is built; the hash of the directory follows.
_BUILT: Final = "KONTEND_GO_BUILT_"
#: The variable that names the directory for builds; that of the user's caches by default.
_CACHE: Final = "KONTEND_CACHE"
#: Files that are built from another text than the one on disk.
_replaced: Final[dict[str, str]] = {}


def build_instead(texts: Mapping[str, str]) -> None:
    """Build packages with these texts in place of files, by their absolute paths; the files stay as they are."""
    _replaced.clear()
    _replaced.update(texts)


@contextmanager
def built_instead(directory: Path, texts: Mapping[str, str]) -> Iterator[None]:
    """Build a package with these texts, once for all processes that start within. Raises :class:`BadScenario`."""
    build_instead(texts)
    try:
        binary, _ = _binary_of(directory.resolve())
        try:
            yield
        finally:
            binary.unlink(missing_ok=True)
    finally:
        build_instead({})


def go_tests(directory: Path, names: tuple[str, ...] = ()) -> list[GoTest]:
    """Build the tests of a package that explore something. Raises :class:`BadScenario`."""
    directory = directory.resolve()
    binary, path = _binary_of(directory)
    pattern = f"^({'|'.join([_NAMED, *names])})$"
    try:
        listed = subprocess.run(
            [binary, f"-test.list={pattern}"],
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadScenario(f"{directory}: the tests could not be listed within {_PATIENCE} s; see TestMain") from None
    tests = [GoTest(binary, directory, path, line) for line in listed.stdout.splitlines() if line.startswith("Test")]
    if not tests:
        _check_constraints(directory, [f"-tags={_TAG}"])
        raise BadScenario(
            f"{directory}: no test found that calls kontend.Explore: its name must begin with TestExplore "
            "(kontend init --go writes one)"
        )
    return tests


def _binary_of(directory: Path) -> tuple[Path, str]:
    """The binary with the tests of a package, and the path of its module; it is built where it is not yet."""
    module = module_file(directory)
    place = _place(directory)
    changed = hashlib.sha256(orjson.dumps(sorted(_replaced.items()))).hexdigest()[:16] if _replaced else ""
    binary = place / f"explore{changed}.test"
    variable = _BUILT + place.name + changed
    path = os.environ.get(variable)
    if path is None or not binary.exists():
        path = os.environ[variable] = _built(directory, module, place, binary)
    return binary, path


def _place(directory: Path) -> Path:
    """The directory for the build of a package: the same each time, so that Go's cache knows what was built."""
    given, cache = os.environ.get(_CACHE), os.environ.get("XDG_CACHE_HOME")
    base = Path(given) if given else (Path(cache) if cache else Path.home() / ".cache") / "kontend"
    place = base / "go" / hashlib.sha256(str(directory).encode()).hexdigest()[:16]
    place.mkdir(parents=True, exist_ok=True)
    return place


def _built(directory: Path, module: Path, place: Path, binary: Path) -> str:
    """Build the binary; returns the path of the user's module."""
    # Another process may run the binary, or build it at the same time.
    made = place / f"{os.getpid()}.test"
    _copy_module(place / "module")
    changed = place / "go.mod"
    shutil.copyfile(module, changed)
    sums = module.with_name("go.sum")
    if sums.exists():
        shutil.copyfile(sums, place / "go.sum")
    common = ["-mod=mod", f"-modfile={changed}"]
    try:
        edits = [f"-require={MODULE}@v0.0.0", f"-replace={MODULE}={place / 'module'}"]
        edits += _without_runtime(directory, module) + workspace_replacements(directory)
        run_go(["mod", "edit", *edits, changed.name], place)
        version = run_go(["list", *common, "-m", "-f", "{{.Version}}", _RUNTIME], directory).strip()
        tags = _tags(version)
        path = run_go(["list", *common, "-m"], directory).strip()
        test = ["test", "-c", *common, f"-tags={','.join(tags)}", "-vet=off", "-o", str(made)]
        tests = {file: file.read_bytes() for file in directory.glob("*_test.go")}
        own = {str(file): text.decode(errors="replace") for file, text in tests.items() if MODULE.encode() in text}
        texts = {file: _UNSEEN.sub(rf"\g<1>{_TAG}", text, count=1) for file, text in {**own, **_replaced}.items()}
        others = [file for file in tests if str(file) not in own]
        with TemporaryDirectory(dir=place) as replaced:
            try:
                run_go([*test, f"-overlay={_overlay(Path(replaced), texts, without=others)}", "."], directory)
            except GoFailed:  # perhaps they define something that the others need
                run_go([*test, f"-overlay={_overlay(Path(replaced), texts)}", "."], directory)
    except GoFailed as error:
        raise BadScenario(f"{directory}: the tests cannot be built:\n{error}") from error
    if not made.exists():
        _check_constraints(directory, [*common, f"-tags={','.join(tags)}"])
        raise BadScenario(f"{directory}: the package has no tests (kontend init --go writes one)")
    patch_binary(made)
    os.replace(made, binary)
    return path


def _without_runtime(directory: Path, module: Path) -> list[str]:
    """The change of a go.mod without controller-runtime: the version that belongs to its client-go."""
    required = requirements(module)
    if _RUNTIME in required:
        return []
    version = version_in(required.get(_CLIENT, ""))
    if not version:
        raise BadScenario(
            f"{directory}: neither controller-runtime nor client-go is among the requirements of {module}; a package "
            "is explored in the module that has its controllers"
        )
    minor = version[1] - _AHEAD
    if (0, minor) < _OLDEST:
        oldest = f"v0.{_OLDEST[1] + _AHEAD}"
        raise BadScenario(f"client-go {required[_CLIENT]} is too old to be explored: it takes {oldest} or newer")
    return [f"-require={_RUNTIME}@v0.{minor}.0"]


def _check_constraints(directory: Path, options: Sequence[str]) -> None:
    """Raise :class:`BadScenario` for a test that explores and is left out by its build constraint."""
    try:
        listed = orjson.loads(run_go(["list", *options, "-e", "-json=IgnoredGoFiles", "."], directory))
    except GoFailed:
        return
    for name in listed.get("IgnoredGoFiles") or ():
        file = directory / name
        if name.endswith("_test.go") and MODULE.encode() in file.read_bytes():
            raise BadScenario(
                f"{file}: its build constraint leaves it out; a test that explores is built with the tag {_TAG} "
                f"(//go:build {_TAG})"
            )


def _overlay(directory: Path, texts: Mapping[str, str], *, without: Sequence[Path] = ()) -> Path:
    """An overlay with other texts for files, none for tests that explore nothing: a TestMain of theirs would run."""
    replacements = {str(file): "" for file in without}
    for at, (file, text) in enumerate(sorted(texts.items())):
        replacement = directory / f"{at}.go"
        replacement.write_text(text)
        replacements[file] = str(replacement)
    overlay = directory / "overlay.json"
    overlay.write_bytes(orjson.dumps({"Replace": replacements}))
    return overlay


def _tags(version: str) -> list[str]:
    numbers = version_in(version)
    if numbers and numbers[:2] < _OLDEST:
        raise BadScenario(f"controller-runtime {version} is too old to be explored: it takes v0.19 or newer")
    return [_TAG, *(tag for since, tag in _SINCE.items() if not numbers or numbers[:2] >= since)]


def _copy_module(target: Path) -> None:
    target.mkdir(exist_ok=True)
    files = {
        file.name: file.read_bytes() for file in module_directory().glob("*.go") if not file.name.endswith("_test.go")
    }
    files["go.mod"] = f"module {MODULE}\n\ngo 1.22.0\n".encode()
    for file in target.iterdir():
        if file.name not in files:
            file.unlink()
    for name, content in files.items():
        file = target / name
        if not file.exists() or file.read_bytes() != content:
            file.write_bytes(content)


def module_directory() -> Path:
    """The directory with our Go module: in the package, or beside it in a checkout."""
    package = Path(__file__).parents[2]
    installed = package / "_go"
    return installed if installed.is_dir() else package.parents[1] / "go"
