"""Sources of the user's modules, sent to a process that may not have their files.

A worker on another machine gets the text of the modules that are loaded where the search was started, and imports them
from there: under the same names, with the same file names in messages and traces. The modules run again on the worker.
Sending functions and classes by value instead (cloudpickle can) fails on globals that cannot be copied, such as locks
and open files, and loses the text that messages quote.
"""

from __future__ import annotations

import linecache
import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from kontend.runtime.source_location import work_for, working_directory

_OURS: Final = Path(__file__).parents[1]
_INSTALLED: Final = tuple(
    Path(directory).resolve()
    for directory in (
        *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(),
        site.getusersitepackages(),
    )
)


class UserCode(NamedTuple):
    """Everything that another process needs to import the user's modules."""

    sources: Sequence[UserSource] = ()
    #: Directories with other modules, which were not imported yet.
    path: Sequence[str] = ()
    #: The directory that paths in messages are relative to.
    directory: str = ""

    @classmethod
    def loaded(cls, further: Iterable[UserSource] = ()) -> UserCode:
        """Return the code that this process has imported, and ``further`` sources."""
        path = [directory for directory in sys.path if directory]
        return cls([*loaded_sources(), *further], path, str(working_directory()))

    def install(self) -> None:
        """Let this process import it."""
        if self.directory:
            work_for(Path(self.directory))
        sys.path.extend(directory for directory in self.path if directory not in sys.path and Path(directory).is_dir())
        _IMPORTER.add(self.sources)
        if _IMPORTER not in sys.meta_path:
            sys.meta_path.insert(0, _IMPORTER)


class UserSource(NamedTuple):
    """The source of one module."""

    name: str
    #: The absolute path of the file, where it was read.
    file: str
    text: str
    #: The module is a package, with modules below it.
    is_package: bool = False


def is_users(module: ModuleType) -> bool:
    """Return whether a module belongs to the user: it has a file, and was not installed."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return False
    path = Path(file).resolve()
    return not any(path.is_relative_to(directory) for directory in (_OURS, *_INSTALLED))


def loaded_sources() -> list[UserSource]:
    """Return the sources of all modules of the user that this process has imported.

    ``__main__`` is left out: it cannot be imported under that name.
    """
    sources = []
    for name, module in sorted(sys.modules.items()):
        if name == "__main__" or not isinstance(module, ModuleType):
            continue
        if getattr(module, "__file__", None) is None and hasattr(module, "__path__"):
            sources.append(UserSource(name, "", "", is_package=True))  # a namespace package
        elif (is_users(module) or name.startswith("kontend_user_")) and str(module.__file__).endswith(".py"):
            lines = linecache.getlines(
                str(module.__file__)
            )  # the text that was imported, if the file has changed since
            sources.append(UserSource(name, str(module.__file__), "".join(lines), hasattr(module, "__path__")))
    wanted = {source.name for source in sources if source.file}
    return [source for source in sources if source.file or any(name.startswith(f"{source.name}.") for name in wanted)]


def forget_users() -> None:
    """Forget the modules of the user that this process has imported, so that they are imported again."""
    for source in loaded_sources():
        sys.modules.pop(source.name, None)


class _Importer(MetaPathFinder, Loader):
    """Imports modules from sources that were sent."""

    def __init__(self) -> None:
        self.sources: dict[str, UserSource] = {}
        self._files: dict[str, UserSource] = {}

    def add(self, sources: Iterable[UserSource]) -> None:
        """Take sources; a module that was imported from another text is imported again when it is needed."""
        for source in sources:
            if self.sources.get(source.name) == source:
                continue
            sys.modules.pop(source.name, None)
            self.sources[source.name] = source
            self._files[source.file] = source
            lines = source.text.splitlines(keepends=True)
            linecache.cache[source.file] = (len(source.text), None, lines, source.file)

    def of_file(self, file: str) -> UserSource | None:
        """Return the source that was read from a file."""
        return self._files.get(file)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module that was sent."""
        del path, target
        source = self.sources.get(fullname)
        if source is None:
            return None
        spec = ModuleSpec(fullname, self if source.file else None, origin=source.file, is_package=source.is_package)
        spec.has_location = bool(source.file)
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Run a module."""
        source = self.sources[module.__name__]
        exec(compile(source.text, source.file, "exec", dont_inherit=True), vars(module))  # noqa: S102 (the user's code)

    def get_source(self, fullname: str) -> str:
        """Return the text of a module, for tracebacks."""
        return self.sources[fullname].text


_IMPORTER: Final = _Importer()


def sent_source(file: Path) -> UserSource | None:
    """Return the source of a file that was sent to this process."""
    return _IMPORTER.of_file(str(file))
