"""The interactive page: its server answers nobody but its own page, and its steps lead through the scenario."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kontend.cli.command import UsageError
from kontend.cli.exploring.by_hand import server_for
from kontend.explore.scenario_files import scenarios_in
from kontend.report.interactive import InteractiveServer
from report.browser import View

EXAMPLE = Path(__file__).parents[2] / "examples" / "double_plan.py"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server() -> Iterator[InteractiveServer]:
    """A running server of the demo's scenarios."""
    running = server_for(EXAMPLE, scenarios_in(str(EXAMPLE)))
    thread = threading.Thread(target=running.run)
    thread.start()
    yield running
    running.close()
    thread.join()


def ask(
    server: InteractiveServer, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
) -> tuple[int, str]:
    """Send a request; returns the status and the body."""
    connection = http.client.HTTPConnection(server.authority, timeout=20)
    raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    connection.request(method, path, raw, headers or {})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def state(server: InteractiveServer, *path: int, scenario: str = "blind") -> dict[str, Any]:
    """The state after a path."""
    status, text = ask(server, "POST", f"/{server.token}/state", {"scenario": scenario, "path": path}, JSON)
    assert status == 200, text
    answer: dict[str, Any] = json.loads(text)
    return answer


def test_it_listens_on_the_loopback_interface_alone(server: InteractiveServer) -> None:
    assert server.url.startswith("http://127.0.0.1:")
    assert len(server.token) >= 32


def test_it_serves_the_page_and_the_states(server: InteractiveServer) -> None:
    status, page = ask(server, "GET", f"/{server.token}/")
    assert status == 200
    assert "connect-src &#x27;self&#x27;" in page
    first = state(server)
    assert [choice["text"] for choice in first["choices"]] == ["nodes#1 starts default/n", "nodes#2 starts default/n"]
    assert state(server, 0)["document"]["steps"][0]["text"] == "nodes#1 starts default/n"
    assert state(server, 0, 0, 0) == state(server, 0, 0, 0)


def test_a_path_into_the_bug_is_explained(server: InteractiveServer) -> None:
    path = [0, 0, 0, 2, 2]
    choices = state(server, *path)["choices"]
    last = next(at for at, choice in enumerate(choices) if choice["violates"] and choice["action"] == "call")
    explained = state(server, *path, last)
    assert explained["document"]["violation"]["culprits"] == [3, 6]
    assert {violation["property"] for violation in explained["violations"]} == {"lost update", "one_plan"}
    assert "lock=True" in explained["document"]["violation"]["fix"]["text"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, 404),
        ("GET", "/wrong/", {}, 404),
        ("GET", "/{token}/state", {}, 404),
        ("GET", "/{token}/", {"Host": "evil.example"}, 403),
        ("GET", "/{token}/", {"Host": "127.0.0.1"}, 403),
        ("GET", "/{token}/", {"Origin": "http://evil.example"}, 403),
        ("GET", "/{token}/", {"Origin": "null"}, 403),
        ("POST", "/wrong/state", JSON, 404),
        ("POST", "/{token}/state", {**JSON, "Origin": "http://evil.example"}, 403),
        ("POST", "/{token}/state", {"Content-Type": "text/plain"}, 415),
        ("POST", "/{token}/state", {**JSON, "Content-Length": "99999999"}, 413),
        ("PUT", "/{token}/state", JSON, 501),
    ],
)
def test_it_refuses_everybody_else(
    server: InteractiveServer, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    body = {"scenario": "blind", "path": []} if method == "POST" else None
    assert ask(server, method, path.format(token=server.token), body, headers)[0] == status


@pytest.mark.parametrize(
    "body",
    [
        "",
        "nothing",
        "[]",
        '{"scenario": "blind"}',
        '{"scenario": "blind", "path": ["0"]}',
        '{"scenario": "blind", "path": [-1]}',
        '{"scenario": "blind", "path": [true]}',
        '{"scenario": "blind", "path": [99]}',
        '{"scenario": "none", "path": []}',
        '{"scenario": 1, "path": []}',
    ],
)
def test_a_question_that_makes_no_sense_is_answered_with_the_reason(server: InteractiveServer, body: str) -> None:
    status, text = ask(server, "POST", f"/{server.token}/state", body.encode(), JSON)
    assert status == 400
    assert json.loads(text)["error"]


def test_the_reader_takes_steps_and_goes_back(server: InteractiveServer, view: Callable[..., View]) -> None:
    shown = view()
    shown.page.goto(server.url)
    shown.wait("document.querySelectorAll('.choice').length === 2")
    assert "Nothing is violated on this path so far" in shown.text("main")
    shown.press("1")
    shown.wait("document.querySelectorAll('.row').length === 1")
    assert shown.route == "#/x1/trace/1?take=0"
    shown.page.click(".choice >> text=cached get")
    shown.wait("document.querySelectorAll('.row').length === 2")
    assert "Step 2 · nodes#1" in shown.text(".details")
    shown.press("u")
    shown.wait("document.querySelectorAll('.row').length === 1")
    shown.page.go_back()
    shown.wait("document.querySelectorAll('.row').length === 2")
    shown.page.click("nav button >> nth=1")
    shown.wait("location.hash.startsWith('#/x2')")


def test_a_link_leads_to_the_state_with_the_violation(server: InteractiveServer, view: Callable[..., View]) -> None:
    shown = view()
    shown.page.goto(f"{server.url}#/x1/trace/5?take=0.0.0.2.2")
    shown.wait("document.querySelector('.choice .bad')")
    assert "violates lost update" in shown.text("#choices")
    shown.page.click(".choice:has(.bad) >> nth=0")
    shown.wait("document.querySelector('#sentence')")
    assert "nodes#2 wrote status.plan.id" in shown.text("#sentence")
    assert shown.page.locator(".row.culprit").count() == 2
    assert "one_plan" in shown.text("main")


def test_a_link_that_leads_nowhere_says_so(server: InteractiveServer, view: Callable[..., View]) -> None:
    shown = view()
    shown.page.goto(f"{server.url}#/x1/trace?take=7")
    shown.wait("document.querySelector('#choices .bad')")
    assert "there is no choice 8, only 2 steps are enabled" in shown.text("#choices")
    shown.complaints.clear()  # Chromium logs the status 400


def test_the_command_prints_the_address_and_ends_with_ctrl_c() -> None:
    command = [sys.executable, "-m", "kontend", "explore", str(EXAMPLE), "--interactive"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline()
            assert address.startswith("Open: http://127.0.0.1:")
            assert process.stdout.readline() == "Stop with Ctrl-C.\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_a_port_that_is_taken_is_an_error(server: InteractiveServer) -> None:
    port = int(server.authority.rpartition(":")[2])
    with pytest.raises(UsageError, match=f"--port {port}: Address already in use; take another one"):
        server_for(EXAMPLE, scenarios_in(str(EXAMPLE)), port=port)
