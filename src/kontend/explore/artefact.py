"""A counterexample as a file: what to run, the choices, and the story they must give again."""

from __future__ import annotations

import dataclasses
import zipfile
from pathlib import Path
from typing import Any, Final

import orjson
import xxhash

from kontend.explore.choices import BOUNDS, read, written
from kontend.explore.engine import Engine, replay
from kontend.explore.scenario import BadScenario, Bounds
from kontend.explore.source import scenarios_in
from kontend.explore.verdict import Violation

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
        "choices": written(violation.choices),
        "story": list(violation.moves),
    }
    if bounds is not None:
        document["bounds"] = {name: getattr(bounds, name) for name in BOUNDS}
    data = orjson.dumps(document, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2)
    slug = violation.property.replace(" ", "-")
    path = directory / f"{slug}-{xxhash.xxh3_64_hexdigest(data)[:8]}.zip"
    directory.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(_ENTRY, _EPOCH), data)
    return path


def open_trace(path: Path) -> dict[str, Any]:
    """What a file of ours says."""
    try:
        with zipfile.ZipFile(path) as archive:
            document: dict[str, Any] = orjson.loads(archive.read(_ENTRY))
            read(document["choices"])
            wrong = {"source", "scenario", "property", "sentence", "story"} - set(document)
            strange = set(document.get("bounds", ())) - set(BOUNDS)
    except OSError as error:
        raise BadScenario(f"{path}: {error.strerror}") from error
    except (KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise BadScenario(f"{path}: not a counterexample of kontend: {error}") from error
    if wrong or strange:
        raise BadScenario(f"{path}: not a counterexample of kontend: {', '.join(sorted(wrong or strange))}?")
    return document


def run_again(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Replay a counterexample: the document, and the story it gives now."""
    document = open_trace(path)
    scenarios = scenarios_in(document["source"])
    scenario = scenarios.get(document["scenario"])
    if scenario is None:
        raise BadScenario(f"{document['source']}: there is no scenario {document['scenario']} any more")
    if "bounds" in document:
        try:
            bounds = dataclasses.replace(scenario.bounds, **document["bounds"])
        except BadScenario as error:  # not the scenario's line: the file says so
            raise BadScenario(f"{path}: {error.message}") from error
        scenario = dataclasses.replace(scenario, bounds=bounds)
    steps = replay(Engine(scenario), read(document["choices"]))
    return document, [step.text for step in steps]
