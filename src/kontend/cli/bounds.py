"""Options that replace the bounds of scenarios."""

from __future__ import annotations

from argparse import Namespace, _ArgumentGroup
from collections.abc import Sequence
from typing import Any, Final

from kontend.cli.command import Parser, UsageError, at_least
from kontend.explore.chosen_bounds import ChosenBounds
from kontend.explore.planned.perturbations import PERTURBATIONS
from kontend.explore.scenario import LEAST, Bounds

_BOUNDS: Final = {
    "lag": "the number of events that a cache may be behind",
    "concurrent": "the number of instances of each controller",
    "faults": "the number of faults in a run: crashes, failed calls and lost responses together",
    "crashes": "the number of crashes in a run",
    "rewind": "the number of changes that the lists of an instance may lack when it restarts after a crash",
    "failed": "the number of calls in a run that fail for no fault of the caller",
    "lost": "the number of responses in a run that are lost after the call was carried out",
    "handovers": "the number of times that an instance is replaced while a write of it is on its way",
    "perturbations": "the number of perturbations in a run, of all kinds together",
    "identities": "explore another choice of uids and generated names, 0 to 3; 1 has the opposite order of 0",
    "states": "stop after this many states",
    "steps": "stop after this many steps",
    "seconds": "stop after this many seconds",
    "memory": "the MiB that may be in use; what does not fit goes to disk",
}


def add_bounds(made: Parser, *, without: Sequence[str] = ()) -> _ArgumentGroup:
    """Add the options, except some; returns their group."""
    group = made.add_argument_group("bounds (they replace those of the scenario)")
    usual = Bounds()
    for name, what in _BOUNDS.items():
        if name not in without:
            default = getattr(usual, name)
            text = f"{what} (default: {'no limit' if default is None else f'{default:,}'})"
            group.add_argument(f"--{name}", type=at_least(LEAST[name]), metavar="N", help=text)
    group.add_argument("--atomic", action="store_true", help="let nothing happen between the calls of a reconcile")
    group.add_argument("--no-perturbations", action="store_true", help="explore only the unperturbed runs")
    names = ", ".join(PERTURBATIONS)
    text = f"try only these perturbations, of: {names} (default: all within the bounds)"
    group.add_argument("--only", metavar="NAME,…", help=text)
    return group


def chosen_bounds(options: Namespace, *, without: Sequence[str] = ()) -> ChosenBounds:
    """Return the bounds that the options choose."""
    if options.no_perturbations and options.only:
        raise UsageError("--only: --no-perturbations leaves nothing to try; say one of them")
    names = [name for name in _BOUNDS if name not in without]
    given: dict[str, Any] = {name: value for name in names if (value := getattr(options, name)) is not None}
    if options.atomic:
        given["atomic"] = True
    only = tuple(name.strip() for name in options.only.split(",")) if options.only else ()
    return ChosenBounds(given, only, options.no_perturbations)
