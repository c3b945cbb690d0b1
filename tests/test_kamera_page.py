"""Every name in the middle column of docs/kamera.md exists."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kontend import Api, Controller, Result
from kontend.cli import COMMANDS, main
from kontend.explore import Action, Bounds, Scenario
from kontend.explore.planned.plan import FaultInjection, Plan

ROOT = Path(__file__).parents[1]
CLASSES: dict[str, Any] = {
    cls.__name__: cls for cls in (Action, Api, Bounds, Controller, FaultInjection, Plan, Result, Scenario)
}
#: The least number of rows in each section.
SECTIONS = {
    "Staleness": 9,
    "Orders, users, faults, search": 19,
    "Time": 6,
    "Input": 7,
    "Traces": 6,
    "Inspection and analysis": 14,
}


def rows() -> list[tuple[str, list[str]]]:
    table = []
    section = ""
    for line in (ROOT / "docs" / "kamera.md").read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] not in ("there", "---"):
            table.append((section, cells))
    return table


def names() -> list[str]:
    spans = {span for _, cells in rows() for span in re.findall(r"`([^`]+)`", cells[1])}
    return sorted(spans)


def test_every_section_has_its_rows_and_every_row_three_cells() -> None:
    counts = {section: sum(name == section for name, _ in rows()) for section in SECTIONS}
    assert all(counts[section] >= least for section, least in SECTIONS.items()), counts
    assert all(len(cells) == 3 and cells[0] and cells[1] for _, cells in rows())


@pytest.fixture(scope="module")
def options() -> str:
    with redirect_stdout(io.StringIO()) as text:
        for command in ("explore", "import"):
            main([command, "--help"])
    return text.getvalue()


@pytest.mark.parametrize("name", names())
def test_a_name_on_the_page_exists(name: str, options: str) -> None:
    if name.startswith("--"):
        assert re.search(rf"{name}\b", options)
    elif name.startswith("kontend "):
        assert name.split()[1] in COMMANDS
    elif "/" in name:
        assert (ROOT / name).exists()
    elif name.startswith("kontend."):
        try:
            import_module(name)
        except ModuleNotFoundError:
            module, _, attribute = name.rpartition(".")
            assert hasattr(import_module(module), attribute)
    else:
        cls, _, attribute = name.partition(".")
        assert not attribute or hasattr(CLASSES[cls], attribute)
        assert cls in CLASSES
