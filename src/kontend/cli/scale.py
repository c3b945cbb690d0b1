"""The options of commands that run in several processes or on several machines."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from kontend.cli.command import UsageError, at_least
from kontend.executors.names import address_problem, executor_problem

if TYPE_CHECKING:
    from argparse import _ActionsContainer


def add_scale_options(container: _ActionsContainer) -> None:
    """Add ``--jobs`` and ``--executor`` to a parser or a group."""
    container.add_argument(
        "--jobs",
        type=at_least(1),
        metavar="N",
        help="number of processes or workers (default: 1; with --executor, as many as this machine has processors)",
    )
    container.add_argument(
        "--executor",
        default="",
        metavar="NAME",
        help="where they run: fork, spawn, ray[://ADDRESS] or dask[://ADDRESS] (default: processes of this machine)",
    )


def check_scale_options(options: Namespace) -> None:
    """Check them, and fill in the number of workers. Raises :class:`UsageError`."""
    if problem := executor_problem(options.executor) or address_problem(options.executor):
        raise UsageError(f"--executor {options.executor}: {problem}")
    if options.jobs is None:
        options.jobs = (os.cpu_count() or 1) if options.executor else 1
    search = getattr(options, "search", "breadth")
    for name, is_given in (
        ("jobs", options.jobs > 1),
        ("executor", bool(options.executor)),
        ("checkpoint", getattr(options, "checkpoint", None) is not None),
    ):
        if is_given and search != "breadth":
            raise UsageError(
                f"--{name}: only --search breadth runs in several processes or goes on where it was, "
                f"found --search {search}"
            )
