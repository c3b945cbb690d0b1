"""Every Go file of an audit: packages around them, import paths matched to directories, and who calls a function.

There is no build and no toolchain: an import path is matched to a directory through `go.mod`, and types outside the
workspace stay names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import FunctionKey, GoFile, GoFunction, GoPackage, GoStruct, GoType, Memory
from kontend.audit.go.source.syntax import Node, text

_MANY = 6_000_000
"""Bytes of source whose trees are kept; a tree takes about twenty times its source."""
_CALLED = re.compile(rb"\b([A-Z]\w*)\s?[\[(]")
_REQUIRED = re.compile(r"^\s*(?:require\s+)?(\S+)\s+v(\d+\.\d+)\.", re.MULTILINE)
_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)


@dataclass(eq=False)
class _Calls:
    """Calls that are found as they are asked for: most questions end with the first callers."""

    _coming: Iterator[tuple[GoFile, Node]]
    _found: list[tuple[GoFile, Node]] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[GoFile, Node]]:
        for index in count():
            if index == len(self._found):
                following = next(self._coming, None)
                if following is None:
                    return
                self._found.append(following)
            yield self._found[index]


@dataclass(eq=False)
class Workspace:
    """Every Go file of an audit, by path, with lazy packages around them.

    `files` are those the user asked about. Packages that only their types are needed from may be read from disk
    beside them, as long as they belong to a module that holds an audited file.
    """

    files: dict[str, GoFile]
    memory: Memory = field(default_factory=Memory)
    _packages: dict[str, GoPackage] = field(default_factory=dict)
    _modules: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    _requirements: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    _directories: dict[str, str | None] = field(default_factory=dict)
    _callers: dict[tuple[str, str], _Calls] = field(default_factory=dict)

    def settle(self) -> None:
        """Drop all trees once they are many. Nobody may hold a node, a function or a package across a call of this.

        A file that is needed again is read and parsed again, as a whole with what is made from it, so that two nodes
        are the same only if they are of one tree.
        """
        if self.memory.parsed < _MANY:
            return
        self.memory.parsed = 0
        self._packages.clear()
        self._callers.clear()
        for file in self.files.values():
            file.forget()
        syntax.forget()

    @cached_property
    def by_directory(self) -> dict[str, list[GoFile]]:
        """Audited files by directory."""
        by_directory: dict[str, list[GoFile]] = {}
        for file in self.files.values():
            by_directory.setdefault(file.directory, []).append(file)
        return by_directory

    def package(self, directory: str) -> GoPackage:
        """Return the package of a directory, reading files that were not asked about when they are there."""
        if directory not in self._packages:
            files = list(self.by_directory.get(directory, ()))
            known = {Path(file.path).name for file in files}
            files += [file for file in _read_beside(directory, self.memory) if Path(file.path).name not in known]
            self._packages[directory] = GoPackage(directory, files)
        return self._packages[directory]

    def directory_of(self, import_path: str, near: str) -> str | None:
        """Return the directory an import path is in, if it belongs to the module around `near`."""
        if import_path.startswith("dir:"):
            return import_path[4:]
        if import_path not in self._directories:
            self._directories[import_path] = self._find_directory(import_path)
        return self._directories[import_path] if self._module(near) is not None else None

    def _find_directory(self, import_path: str) -> str | None:
        """Match an import path to the module of the tree with the longest name that contains it."""
        for name, root in self.modules:
            if import_path == name:
                return root
            if import_path.startswith(name + "/"):
                directory = str(Path(root, import_path[len(name) + 1 :]))
                if directory in self.by_directory or Path(directory).is_dir():
                    return directory
        return None

    @cached_property
    def modules(self) -> list[tuple[str, str]]:
        """Modules that hold an audited file, by name and directory, the longest names first."""
        modules = {self._module(directory) for directory in self.by_directory}
        named = {(name, root) for root, name in filter(None, modules)}
        return sorted(named, key=lambda module: (-len(module[0]), module))

    def _module(self, directory: str) -> tuple[str, str] | None:
        if directory not in self._modules:
            self._modules[directory] = None
            path = Path(directory)
            try:
                content = (path / "go.mod").read_text("utf-8", "replace")
            except OSError:
                parent = str(path.parent)
                if parent not in (directory, ""):
                    self._modules[directory] = self._module(parent)
            else:
                match = _MODULE.search(content)
                self._modules[directory] = (directory, match.group(1)) if match else None
        return self._modules[directory]

    def required(self, module: str, near: str) -> tuple[int, ...] | None:
        """Return the version of a module that the `go.mod` around a directory requires, or None where it says none."""
        own = self._module(near)
        if own is None:
            return None
        if own[0] not in self._requirements:
            content = Path(own[0], "go.mod").read_text("utf-8", "replace")
            self._requirements[own[0]] = {
                name: tuple(int(part) for part in version.split(".")) for name, version in _REQUIRED.findall(content)
            }
        return self._requirements[own[0]].get(module)

    def type(self, go_type: GoType, near: str) -> GoStruct | None:
        """Look a type up, if its package can be seen."""
        directory = self.directory_of(go_type.package, near)
        return self.package(directory).types.get(go_type.name) if directory is not None else None

    def function(self, key: FunctionKey) -> GoFunction:
        """Return a declared function by its key, which outlives the trees."""
        path, start = key
        return next(each for each in self.files[path].functions if each.node.start_byte == start)

    def callers(self, function: GoFunction) -> Iterator[tuple[GoFile, Node]]:
        """Yield the calls that may reach a function: by name and number of arguments, in its package or, if exported,
        anywhere. Files are parsed as the calls are asked for."""
        key = (function.file.directory, f"{function.receiver_type}.{function.name}")
        if key not in self._callers:
            found = ((file, call) for file in self.files_calling(function) for call in self.calls_in(file, function))
            self._callers[key] = _Calls(found)
        return iter(self._callers[key])

    def files_calling(self, function: GoFunction) -> list[GoFile]:
        """Return the files that may call a function, as far as their texts tell."""
        own = function.file.directory
        if not function.exported:
            return self.by_directory.get(own, [])
        imported = f'{Path(own).name}"'.encode()
        elsewhere = not function.receiver_type and self._named_by_directory(function)

        def may_call(file: GoFile) -> bool:
            if file.directory == own:
                return True
            return self._related(file.directory, own) and (not elsewhere or imported in file.source)

        return [file for file in self._calling.get(function.name.encode(), ()) if may_call(file)]

    def calls_in(self, file: GoFile, function: GoFunction) -> Iterator[Node]:
        """Yield the calls in one file that may reach a function."""
        variadic = any(
            kind.parent is not None and kind.parent.type.startswith("variadic") for _, kind in function.parameters
        )
        for call in file.calls_of(function.name):
            if file is function.file and syntax.inside(call, function.node):
                continue
            given = len(syntax.arguments(call))
            if given != len(function.parameters) and not (variadic and given >= len(function.parameters) - 1):
                continue
            if not function.receiver_type and not self._same_package(file, syntax.callee(call)[0], function):
                continue
            yield call

    def _related(self, directory: str, other: str) -> bool:
        """Decide whether code of two directories can call each other: in one module, or one requires the other's.

        Either may require the other, because a module also calls the methods of those that implement its interfaces.
        """
        one, two = self._module(directory), self._module(other)
        if one is None or two is None or one == two:
            return True
        return self.required(two[1], directory) is not None or self.required(one[1], other) is not None

    def _named_by_directory(self, function: GoFunction) -> bool:
        """Report if the import path of a function's package ends with its directory, as all but a module's root do."""
        module = self._module(function.file.directory)
        return module is not None and module[0] != function.file.directory

    @cached_property
    def _calling(self) -> dict[bytes, list[GoFile]]:
        """Files by the exported names they call: one pass over the text saves a search of every file for every
        function."""
        callers: dict[bytes, list[GoFile]] = {}
        for file in self.files.values():
            for name in set(_CALLED.findall(file.source)):
                callers.setdefault(name, []).append(file)
        return callers

    def _same_package(self, file: GoFile, operand: Node | None, function: GoFunction) -> bool:
        if operand is None:
            return file.directory == function.file.directory
        path = file.imports.get(text(operand))
        return path is not None and (
            self.directory_of(path, file.directory) == function.file.directory
            or Path(path).name == Path(function.file.directory).name
        )


def _read_beside(directory: str, memory: Memory) -> Iterator[GoFile]:
    try:
        paths = sorted(Path(directory).glob("*.go")) if directory else []
    except OSError:
        return
    for path in paths:
        if path.name.endswith("_test.go"):
            continue
        try:
            if (
                path.is_file() and not path.is_symlink() and path.stat().st_size < 2_000_000
            ):  # a named pipe would block forever
                yield GoFile(str(path), None, directory, memory=memory)
        except OSError:
            continue
