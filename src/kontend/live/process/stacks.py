"""Stacks of a process, and the line of the controller's own code from which a request comes.

A Go program that gets SIGQUIT prints the stack of every goroutine and ends, whatever it was built with: no debug
information, no second build. The goroutine that waits for an answer has all calls between the controller's code and the
connection. Its own code is told from that of libraries by the files: those of the standard library are where net/http
is, those of modules have a version in their path, unless the main function itself has it (``go install
MODULE@VERSION``). A list of client libraries was rejected: every operator brings helpers of its own.

Python programs are given a module that answers the same signal (``asked/sitecustomize.py``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from kontend.live.process.command import Command

_GOROUTINE: Final = re.compile(r"^goroutine \d+ .*:$", re.MULTILINE)
_FRAME: Final = re.compile(r"^(?P<function>\S.*)\([^()]*\)\n\t(?P<file>.+?):(?P<line>\d+)(?: .*)?$", re.MULTILINE)
#: The function in which a goroutine waits for the answer to a request.
_WAITS: Final = re.compile(r"^net/http\..*\.(?:RoundTrip|roundTrip)$")
#: The beginning of a stack of a Python program, and its innermost call.
_PYTHON: Final = "kontend stack\n"
_PLACE: Final = re.compile(r"(?P<file>.+):(?P<line>\d+) (?P<function>\S+)")
_ASKED: Final = Path(__file__).parent / "asked"
_MAIN: Final = "main.main"
_LIBRARY: Final = "net/http/"
_VERSION: Final = re.compile(r"^(.*@v[^/]*/)")
_VENDORED: Final = "/vendor/"


class Frame(NamedTuple):
    """One call on a stack."""

    function: str
    file: str
    line: int


class Origin(NamedTuple):
    """The line of a controller's own code that makes a request, and the function that it is in."""

    function: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.function})"


def asked(command: Command) -> Command:
    """Return a command that answers with its stacks, also where it is a Python program."""
    given = command.environment.get("PYTHONPATH") or os.environ.get("PYTHONPATH")
    path = os.pathsep.join(filter(None, [str(_ASKED), given]))
    return replace(command, environment={**command.environment, "PYTHONPATH": path})


def origins(output: str, verb: str) -> list[Origin]:
    """Return the lines from which the requests come that a program waits for, as its stacks show them.

    There may be several: workers run side by side. In Go, those in a function of the client that is called as the verb
    of the request count alone, if there are any.
    """
    return _of_python(output) or _of_go(output, verb)


def _of_python(output: str) -> list[Origin]:
    blocks = [block.partition("\n\n")[0] for block in output.split(_PYTHON)[1:]]
    places = [match for match in (_PLACE.match(block) for block in blocks) if match is not None]
    root = _common([os.path.dirname(place["file"]) for place in places])
    made = (Origin(each["function"], os.path.relpath(each["file"], root), int(each["line"])) for each in places)
    return list(dict.fromkeys(made))


def _of_go(output: str, verb: str) -> list[Origin]:
    stacks = list(_stacks(output))
    waiting = [stack for stack in stacks if any(_WAITS.match(frame.function) for frame in stack)]
    library = next((_above(frame.file, _LIBRARY) for stack in waiting for frame in stack if _is_library(frame)), None)
    if library is None:
        return []
    main = next((frame.file for stack in stacks for frame in stack if frame.function == _MAIN), "")
    found = [(stack, [frame for frame in stack if _is_own(frame, library, main)]) for stack in waiting]
    own = [(stack, frames) for stack, frames in found if frames]
    named = [each for each in own if any(_base_name(frame.function).lower() == verb for frame in each[0])]
    chosen = [frames[0] for _, frames in named or own]
    root = _root(main, [frame.file for frame in chosen])
    return list(
        dict.fromkeys(Origin(_short(each.function), os.path.relpath(each.file, root), each.line) for each in chosen)
    )


def _stacks(output: str) -> Iterator[list[Frame]]:
    """The stacks of all goroutines, innermost calls first."""
    for goroutine in _GOROUTINE.split(output)[1:]:
        block = goroutine.partition("\n\n")[0]
        yield [Frame(each["function"], each["file"], int(each["line"])) for each in _FRAME.finditer(block)]


def _is_library(frame: Frame) -> bool:
    return frame.function.startswith("net/http.") and _LIBRARY in frame.file


def _above(file: str, part: str) -> str:
    return file[: file.rindex(part)]


def _is_own(frame: Frame, library: str, main: str) -> bool:
    """Return whether a call is in the controller's own code."""
    if library:
        is_standard = frame.file.startswith(library)
    else:  # -trimpath leaves only the name of its package
        is_standard = "." not in frame.file.partition("/")[0]
    if is_standard or frame.file.startswith("<"):  # such as <autogenerated>
        return False
    installed = _VERSION.match(main)
    if installed is not None:
        return frame.file.startswith(installed[1]) and _VENDORED not in frame.file
    return _VERSION.match(frame.file) is None and _VENDORED not in frame.file


def _base_name(function: str) -> str:
    return function.rpartition(".")[2]


def _short(function: str) -> str:
    """Return a function with its package, without the path to that.

    >>> _short("github.com/a/b/controllers.(*Reconciler).scale"), _short("main.(*R).Reconcile.func1")
    ('controllers.(*Reconciler).scale', 'main.(*R).Reconcile.func1')
    """
    return function.rpartition("/")[2]


def _root(main: str, files: Sequence[str]) -> str:
    """Return the directory to which the paths of own files are relative."""
    installed = _VERSION.match(main)
    if installed is not None:
        return installed[1]
    return _common([os.path.dirname(each) for each in (main, *files) if each])


def _common(directories: Iterable[str]) -> str:
    try:
        return os.path.commonpath([*directories])
    except ValueError:  # some are relative, as with -trimpath
        return "."
