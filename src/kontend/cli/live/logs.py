"""The logs of runs: the output of the command in each, in a file of its own."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Final

from kontend.live.runs.outcome import Run
from kontend.safe_files import write_whole

_LOGGER: Final = "kontend"


def tell_once() -> None:
    """Print what goes wrong in the cluster's own controllers: each line once, not with every retry in every run."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("kontend live: in the cluster: %(message)s"))
    handler.addFilter(_Once())
    handler.setLevel(logging.WARNING)
    logger = logging.getLogger(_LOGGER)
    logger.handlers, logger.propagate = [handler], False


class _Once(logging.Filter):
    """Passes each text once."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a text is new."""
        text = record.getMessage()
        is_new = text not in self._told
        self._told.add(text)
        return is_new


class Logs:
    """A directory with a file for each run, which begins with its plan."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.kept = 0

    def keep(self, run: Run) -> None:
        """Keep the output of a run. Logs of an earlier command with more runs are removed, not mixed with these."""
        try:
            if not self.kept:
                self.directory.mkdir(parents=True, exist_ok=True)
                for old in self.directory.glob("[0-9][0-9][0-9][0-9].log"):
                    old.unlink()
            outputs = "".join(f"== {name}\n{text}" for name, text in run.outputs.items())
            text = f"plan: {run.plan.name}\n{outputs}"
            write_whole(self.directory / f"{run.number:04d}.log", text.encode())
        except OSError as error:
            sys.stderr.write(f"kontend live: the log of a run is not kept: {error}\n")
        self.kept += 1
