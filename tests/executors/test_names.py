"""Executors by their names and addresses."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from executors.engines import needs, project
from kontend.cli import main
from kontend.executors import names
from kontend.executors.names import address_problem, executor_problem
from kontend.explore.exploring import SearchOptions
from kontend.explore.problems import BadScenario


@pytest.mark.parametrize("name", ["", "fork", "spawn"])
def test_an_executor_that_exists_is_accepted(name: str) -> None:
    assert not executor_problem(name)


def test_an_executor_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadScenario, match=r"executor='frok': .*did you mean fork"):
        SearchOptions(executor="frok")


def test_walks_have_no_executor() -> None:
    with pytest.raises(BadScenario, match="only search='breadth'"):
        SearchOptions("random", executor="spawn")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("fork://here", "takes no address"),
        ("ray://", "expected ray://HOST:PORT"),
        ("ray://head", "expected ray://HOST:PORT"),
        ("ray://head:port", "expected ray://HOST:PORT"),
        ("dask://auto", "expected dask://HOST:PORT"),
        ("dask://:8786", "expected dask://HOST:PORT"),
    ],
)
def test_an_address_that_is_none_is_refused(name: str, problem: str) -> None:
    assert problem in executor_problem(name)


@pytest.mark.parametrize(("name", "package"), [("ray", "ray"), ("dask://head:8786", "distributed")])
def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(names, "find_spec", lambda _: None)
    assert main(["explore", str(project(tmp_path)), "--executor", name]) == 2
    extra = name.partition(":")[0]
    assert f"{package} is not installed: pip install 'kontend[{extra}]'" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_an_address_where_nothing_answers_is_reported(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs(engine)
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    assert main(["explore", str(project(tmp_path)), "--executor", f"{engine}://127.0.0.1:{free}"]) == 2
    assert f"nothing answers at 127.0.0.1:{free}" in capsys.readouterr().err


def test_addresses_of_this_machine_need_no_answer() -> None:
    assert not address_problem("ray")
    assert not address_problem("ray://auto")
