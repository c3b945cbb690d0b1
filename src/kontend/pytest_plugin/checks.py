"""The explorations of one test: runs them, explains those that fail, and attaches their pages to the report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

import pytest

from kontend.explore.chosen_bounds import ChosenBounds
from kontend.explore.explain.explanation import origin_of
from kontend.explore.exploring import SearchOptions, check
from kontend.explore.scenario import Bounds, Scenario
from kontend.explore.verdict import Verdict
from kontend.pytest_plugin.bare_calls import is_bare
from kontend.pytest_plugin.kept import archives_in, directory_of, keep, replayed
from kontend.pytest_plugin.settings import settings_of
from kontend.repair.showing import show_fixes
from kontend.report.saving import page_beside

#: Characters of the repr of a verdict that the message of a failed assert has: pytest cuts long ones in the middle.
_RECOGNIZED: Final = 80
#: Seconds of a failed test that a verified fix may take.
_FIX_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class _Check:
    """One call of ``check``, and the directory of its failures."""

    scenario: Scenario
    verdict: Verdict
    directory: Path


class Checks:
    """The explorations of one test."""

    def __init__(self, item: pytest.Item) -> None:
        mark = item.get_closest_marker("explore")
        self._item = item
        self._marked = mark is not None
        self._pinned = [item.path.parent / path for path in (mark.kwargs.get("pinned", ()) if mark else ())]
        self._settings = settings_of(item)
        self._base = item.config.rootpath / item.config.getoption("kontend_dir")
        self._checks: list[_Check] = []
        self._pages: list[Path] = []

    def run(
        self, scenario: Scenario, options: SearchOptions, search: Callable[[Scenario, SearchOptions], Verdict]
    ) -> Verdict:
        """Run a search: kept failures first. Fails the test if nothing looks at a verdict that is not good."""
        directory = directory_of(self._base, self._item.nodeid, len(self._checks) + 1)
        missing = [path for path in self._pinned if not path.is_file()]
        if missing:
            raise pytest.UsageError(f"pytest.mark.explore(pinned=...): {missing[0]}: no such file")
        verdict: Verdict | None = None
        remarks: list[str] = []
        if isinstance(scenario, Scenario):
            kept = [] if self._item.config.getoption("kontend_no_replay") else archives_in(directory)
            verdict, remarks = replayed(scenario, [*self._pinned, *kept])
            scenario, options = self._settings.apply(scenario, options)
        if verdict is None:
            verdict = search(scenario, options)
        verdict.notes += remarks
        made = _Check(scenario, verdict, directory)
        self._checks.append(made)
        if not verdict.ok and (self._marked or _is_dropped()):
            self._fail(made)
        return verdict

    def check_returned(self, returned: Any) -> None:
        """Check the scenarios that a test returns: one, several, or several by name."""
        values: Iterable[Any] = (
            [returned]
            if isinstance(returned, Scenario)
            else returned.values()
            if isinstance(returned, Mapping)
            else returned
            if isinstance(returned, Iterable)
            else [returned]
        )
        for value in values:
            if not isinstance(value, Scenario):
                raise pytest.UsageError(f"pytest.mark.explore: expected scenarios, the test returned {value!r}")
            check(value)

    def explain(self, error: AssertionError) -> None:
        """Fail with the explanation where a failed assertion is about a verdict; return otherwise."""
        message = str(error)
        for made in reversed(self._checks):
            verdict = made.verdict
            if verdict.ok:
                continue
            if not message or message == str(verdict) or repr(verdict)[:_RECOGNIZED] in message:
                self._fail(made, at=_place(error, self._item))

    def _fail(self, made: _Check, at: str = "") -> NoReturn:
        verbose = self._item.config.getoption("kontend_verbose")
        if not self._item.config.getoption("kontend_no_fix"):
            _show_fixes(made)
        lines = [made.verdict.text(verbose=verbose)]
        try:
            archives = keep(made.directory, made.verdict)
        except OSError as error:
            archives = []
            lines.append(f"The counterexample is not saved: {error}")
        for path in archives:
            page = page_beside(path)
            self._pages.append(page)
            self._add_to_junit(page)
            lines += [f"Open: {self._shown(page)}", f"Look closer: kontend inspect {self._shown(path)}"]
        if at:
            lines.append(at)
        pytest.fail("\n".join(lines), pytrace=False)

    def _add_to_junit(self, page: Path) -> None:
        """Add a page as a property and as an attachment, by the convention of Jenkins and GitLab."""
        self._item.user_properties.append(("kontend_page", self._shown(page)))
        if getattr(self._item.config.option, "xmlpath", None):
            self._item.add_report_section("call", "stdout", f"[[ATTACHMENT|{page.resolve()}]]\n")

    def attach(self, report: Any) -> None:
        """Add the pages to a report, as links of pytest-html."""
        if not self._pages:
            return
        config = self._item.config
        if config.pluginmanager.hasplugin("html"):
            beside = Path(getattr(config.option, "htmlpath", None) or "report.html").resolve().parent
            report.extras = [
                *getattr(report, "extras", []),
                *(_link(os.path.relpath(page.resolve(), beside)) for page in self._pages),
            ]

    def _shown(self, path: Path) -> str:
        """Return a path as the user would type it."""
        current = self._item.config.invocation_params.dir
        return str(path.relative_to(current)) if path.is_relative_to(current) else str(path)


def _link(target: str) -> dict[str, Any]:
    """Return a link of pytest-html, which takes plain data."""
    return {"name": "kontend", "format_type": "url", "content": target, "mime_type": None, "extension": None}


def _place(error: AssertionError, item: pytest.Item) -> str:
    """Return the line of the test that failed, as ``tests/test_a.py:12``."""
    traceback, line = error.__traceback__, 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == str(item.path):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    name = item.nodeid.partition("::")[0]
    return f"{name}:{line}" if line else name


def _show_fixes(made: _Check) -> None:
    """Add verified fixes to the explanations, where the scenario has a name in a file and a search is short."""
    origin = origin_of(made.scenario)
    if origin.file is None or not origin.scenario or made.verdict.not_reproduced:
        return
    bounds = made.scenario.bounds
    exact = {field.name: getattr(bounds, field.name) for field in fields(Bounds) if field.name != "line"}
    show_fixes(made.verdict, origin.file, origin.scenario, bounds=ChosenBounds(exact), seconds=_FIX_SECONDS)


def _is_dropped() -> bool:
    """Return True if the caller of ``check`` does nothing with its verdict: the statement is the call alone."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not check.__code__:
        frame = frame.f_back
    caller = frame.f_back if frame is not None else None
    return caller is not None and caller.f_globals.get("__name__") != __name__ and is_bare(caller)
