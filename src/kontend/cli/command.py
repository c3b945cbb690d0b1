"""The common part of all subcommands: their parser, their exit codes, and the one way to report an error.

A subcommand is a function that takes its arguments and returns an :class:`ExitCode`. It raises :class:`UsageError` when
it cannot do what it was asked to; :func:`kontend.cli.main` prints ``kontend COMMAND: message`` to standard error and
exits with 2.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

from kontend.report import WIDTH
from kontend.safe_files import write_whole

#: Control characters except tab and line feed, and those that change the direction of writing.
_CONTROLS: Final = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]")
#: Options that a usage line lists one by one.
_LISTED: Final = 8
#: The width of paragraphs below the options.
_HELP_WIDTH: Final = 78
#: Text is made no narrower than this.
_NARROWEST: Final = 30


class ExitCode(IntEnum):
    """The exit codes of every subcommand."""

    #: The command did its work and found nothing.
    OK = 0
    #: The command did its work and found something: a violation, an unsafe write.
    FINDINGS = 1
    #: The command could not do its work: wrong arguments, an unreadable file, an unreachable server, an internal error.
    ERROR = 2
    #: The search stopped at a limit before it could decide.
    UNDECIDED = 3
    #: Ctrl-C.
    INTERRUPTED = 130


class UsageError(Exception):
    """A subcommand cannot do what it was asked to; the message names the reason and the way out."""


class _Help(argparse.HelpFormatter):
    """Fills paragraphs, keeps text that has lines of its own as it is, and lists few options in the usage line."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[Any],
        prefix: str | None = None,
    ) -> None:
        """Add the usage line; many options are not listed twice, there and below."""
        listed = list(actions)
        if usage is None and sum(bool(action.option_strings) for action in listed) > _LISTED:
            self._prog += " [options]"
            listed = [action for action in listed if not action.option_strings]
            groups = ()
        super().add_usage(usage, listed, groups, prefix)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises :class:`UsageError` instead of exiting.

    The help ends with ``examples`` (command lines, by what each does), the ``epilog``, and the ``topic`` of the manual
    that says more.
    """

    def __init__(
        self, *, examples: Mapping[str, str] | None = None, epilog: str = "", topic: str = "", **options: Any
    ) -> None:
        self.examples = dict(examples or {})
        self.topic = topic
        shown = "".join(f"\n  # {what}\n  {line}" for what, line in self.examples.items())
        manual = f"The manual: kontend help {topic}" if topic else ""
        text = epilog if "\n" in epilog else textwrap.fill(epilog, _HELP_WIDTH)
        parts = [f"examples:{shown}" if shown else "", text, manual]
        super().__init__(formatter_class=_Help, epilog="\n\n".join(part for part in parts if part) or None, **options)

    def error(self, message: str) -> NoReturn:
        """Raise ``message`` as a :class:`UsageError`."""
        raise UsageError(f"{message}\nTry '{self.prog} --help'.")


@contextmanager
def usage_errors(*types: type[Exception]) -> Iterator[None]:
    """Turn exceptions of these types, whose messages are meant for users, into a :class:`UsageError`.

    >>> with usage_errors(ZeroDivisionError):
    ...     1 / 0
    Traceback (most recent call last):
    kontend.cli.command.UsageError: division by zero
    """
    try:
        yield
    except types as error:
        raise UsageError(str(error)) from error


@contextmanager
def extra(name: str, option: str) -> Iterator[None]:
    """Turn the error of an import that needs an extra into a :class:`UsageError` that names it.

    >>> with extra("otel", "--otel"):
    ...     import no_such_module
    Traceback (most recent call last):
    kontend.cli.command.UsageError: --otel needs no_such_module: pip install 'kontend[otel]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] == "kontend":
            raise
        raise UsageError(f"{option} needs {error.name}: pip install 'kontend[{name}]'") from None


def at_least(minimum: int) -> Callable[[str], int]:
    """Type of an option that takes a whole number of at least ``minimum``.

    >>> at_least(1)("4")
    4
    """

    def number(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or len(text) > 18 or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"expected a whole number, at least {minimum}, found {text}")
        return int(text)

    return number


def columns() -> int:
    """Return the width for text: that of the terminal where it is a narrow one, else the usual width."""
    return max(_NARROWEST, min(WIDTH, terminal_columns(sys.stdout, WIDTH))) if sys.stdout.isatty() else WIDTH


def terminal_columns(stream: TextIO, otherwise: int) -> int:
    """Return the columns of the terminal that a stream writes to, or another number where it does not tell."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or otherwise
    except (OSError, ValueError):
        return otherwise


def visible(text: str) -> str:
    """Text in which no character can control the terminal or change the direction of writing.

    Traces, logs and objects come from elsewhere. The characters are written as in JSON, which stays valid.

    >>> print(visible("red: \\x1b[31m"))
    red: \\u001b[31m
    """
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def write(text: str) -> None:
    """Write to standard output at once. A reader that has gone away (``| head``) is not an error."""
    try:
        sys.stdout.write(visible(text))
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would complain again when it flushes standard output at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_page(path: Path, html: str) -> None:
    """Write a page to the file that ``--html`` names."""
    try:
        write_whole(path, html.encode())
    except OSError as error:
        raise UsageError(f"--html: {path}: {error.strerror}") from error
