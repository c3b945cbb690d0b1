"""``kontend explore FILE --interactive``: a page on which the user chooses the steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kontend.cli.command import ExitCode, UsageError, write
from kontend.explore.explain.explanation import Origin
from kontend.explore.explain.lines import relative_name
from kontend.explore.scenario import Scenario
from kontend.explore.session import NotEnabled, Session
from kontend.report.interactive import BadPath, InteractiveServer
from kontend.report.page.contents import ScenarioResult, page_data
from kontend.report.page.page import render


def explore_by_hand(
    source: Path, scenarios: Mapping[str, Scenario], *, origins: Mapping[str, Origin], port: int
) -> int:
    """Serve the page until SIGINT or SIGTERM."""
    server = server_for(source, scenarios, origins=origins, port=port)
    stop = threading.Event()
    # A handler, not KeyboardInterrupt: an exception that is raised while Python runs a finalizer is lost, and a shell
    # starts background jobs with SIGINT ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    answering = threading.Thread(target=server.run)
    answering.start()
    try:
        write(f"Open: {server.url}\nStop with Ctrl-C.\n")
        stop.wait()
    finally:
        server.close()
        answering.join()
    return ExitCode.OK


def server_for(
    source: Path, scenarios: Mapping[str, Scenario], *, origins: Mapping[str, Origin] | None = None, port: int = 0
) -> InteractiveServer:
    """Return the server of the interactive page of some scenarios.

    The first state of each is made at once, as a check.
    """
    known = origins or {}
    sessions = {name: Session(scenario, known.get(name, Origin(source, name))) for name, scenario in scenarios.items()}
    for session in sessions.values():
        session.at(())

    def state_at(name: str, path: Sequence[int]) -> Mapping[str, Any]:
        if name not in sessions:
            raise BadPath(f"there is no scenario {name}")
        try:
            return sessions[name].at(path).to_json()
        except NotEnabled as error:
            raise BadPath(str(error)) from error

    results = [ScenarioResult(name, "undecided") for name in sessions]
    page = render(page_data(relative_name(source), results, interactive="state"), connect=True)
    try:
        return InteractiveServer(page, state_at, port=port)
    except OSError as error:
        raise UsageError(f"--port {port}: {error.strerror}; take another one, or leave it out") from error
