"""The journal of a campaign: the outcomes of its units, in a directory from which it goes on after it has stopped.

A record is on disk before its outcome is printed, so the end of the process loses only the units that were under way.
A damaged record is left out, and its unit runs again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson

from kontend.campaign.unit import DECIDED, Unit, UnitOutcome
from kontend.executors.journal import JournalFile

_MAGIC: Final = b"kontend campaign 2\n"
_NAME: Final = "journal"


class BadJournal(Exception):
    """A journal that cannot be used; the message names it, and says why and what to do."""


class Journal:
    """The journal in one directory, which is locked meanwhile."""

    def __init__(self, directory: Path) -> None:
        """Open the journal of a directory, or start one."""
        self.directory = directory
        try:
            self._file = JournalFile(directory, _NAME, _MAGIC, mode=0o644)
        except BlockingIOError:
            raise BadJournal(
                f"{directory}: another campaign runs in it; wait for it, or choose another directory"
            ) from None
        except OSError as error:
            raise BadJournal(f"{directory}: {error.strerror or error}; choose another directory") from error
        self.path = self._file.path
        if self._file.is_foreign:
            self._file.close()
            raise BadJournal(f"{self.path}: not the journal of a campaign; choose another directory, or remove it")
        records = [_decoded(content) for content in self._file.records()]
        self._outcomes = dict(record for record in records if record is not None)
        #: The number of records that were damaged.
        self.damaged = records.count(None)

    def known(self, unit: Unit) -> UnitOutcome | None:
        """Return the outcome of a unit that ran before; None for one that did not, or that failed."""
        outcome = self._outcomes.get(unit.key)
        return outcome if outcome is not None and outcome.status in DECIDED else None

    def record(self, unit: Unit, outcome: UnitOutcome) -> None:
        """Keep an outcome. Raises :class:`BadJournal` where it cannot be written."""
        self._outcomes[unit.key] = outcome
        record = {"key": unit.key, "title": unit.title, "outcome": outcome.to_json()}
        try:
            self._file.append(orjson.dumps(record), durably=True)
        except OSError as error:
            raise BadJournal(
                f"{self.path}: {error.strerror or error}; what was recorded before is kept: run the same command again"
            ) from error

    def forget(self) -> None:
        """Remove all records."""
        self._outcomes = {}
        self._file.clear()

    def close(self) -> None:
        """Release the directory."""
        self._file.close()


def _decoded(content: bytes | None) -> tuple[str, UnitOutcome] | None:
    if content is None:
        return None
    try:
        document: Any = orjson.loads(content)
        return str(document["key"]), UnitOutcome.from_json(document["outcome"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
