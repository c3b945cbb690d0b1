"""Counterexamples as files: what to run, the schedule, and the trace that it must give again."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, Final

import orjson
import xxhash

from kontend.explore.problems import BadScenario
from kontend.explore.scenario import STEP_BOUNDS, Bounds
from kontend.explore.trace.schedule import dump_schedule, load_schedule
from kontend.explore.verdict import Violation
from kontend.safe_files import BadArchive, real_directory, unpack, write_whole

_ENTRY: Final = "trace.json"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def save(directory: Path, source: Path, scenario: str, violation: Violation, bounds: Bounds | None = None) -> Path:
    """Write a counterexample; the same one always gets the same name and the same bytes.

    ``bounds`` are those it was found in, where they are not the scenario's own.
    """
    document: dict[str, Any] = {
        "source": str(source),
        "scenario": scenario,
        "property": violation.property,
        "sentence": violation.sentence,
        "schedule": dump_schedule(violation.schedule),
        "trace": list(violation.trace),
    }
    if bounds is not None:
        document["bounds"] = {name: getattr(bounds, name) for name in STEP_BOUNDS}
    data = orjson.dumps(document, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2)
    slug = violation.property.replace(" ", "-")
    path = directory / f"{slug}-{xxhash.xxh3_64_hexdigest(data)[:8]}.zip"
    real_directory(directory)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(_ENTRY, _EPOCH), data)
    write_whole(path, packed.getvalue())
    return path


def open_trace(path: Path) -> dict[str, Any]:
    """The content of a file. Raises :class:`BadScenario` for one that is not a counterexample."""
    try:
        document: dict[str, Any] = orjson.loads(unpack(path)[_ENTRY])
        load_schedule(document["schedule"])
        missing = {"source", "scenario", "property", "sentence", "trace"} - set(document)
        unknown = set(document.get("bounds", ())) - set(STEP_BOUNDS)
    except BadArchive as error:
        raise BadScenario(str(error)) from error
    except (KeyError, ValueError, TypeError) as error:
        raise BadScenario(f"{path}: not a counterexample of kontend: {error}") from error
    if missing or unknown:
        raise BadScenario(f"{path}: not a counterexample of kontend: {', '.join(sorted(missing or unknown))}?")
    return document
