"""Independent tasks on executors."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import orjson
import pytest

from cli.test_zoo import GOOD, entry
from kontend.cli import main
from kontend.executors.tasks import task_pool
from kontend.runtime.user_sources import UserCode

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(params=["ray", "dask"])
def executor(request: pytest.FixtureRequest) -> str:
    """The name of an engine that is installed."""
    request.getfixturevalue(request.param)
    name: str = request.param
    return name


def _refused(number: int) -> int:
    raise KeyError(number)


def _killed_once(file: str) -> str:
    """End the worker, unless it has ended before."""
    path = Path(file)
    if not path.exists():
        path.write_text("once")
        os.kill(os.getpid(), signal.SIGKILL)
    return path.read_text()


def test_tasks_return_results_and_exceptions(executor: str) -> None:
    with task_pool(executor, 2, UserCode.loaded()) as pool:
        assert list(pool.map(abs, [-1, 2, -3])) == [1, 2, 3]
        with pytest.raises(KeyError, match="5"):
            pool.submit(_refused, 5).result()


def test_a_task_whose_worker_is_killed_is_repeated(executor: str, tmp_path: Path) -> None:
    with task_pool(executor, 2, UserCode.loaded()) as pool:
        assert pool.submit(_killed_once, str(tmp_path / "mark")).result() == "once"


def test_the_zoo_gives_the_same_results(
    executor: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        entry(tmp_path, name, GOOD)
    results = []
    for options in ((), ("--jobs", "2", "--executor", executor)):
        assert main(["zoo", "--directory", ".", "--output-format", "json", *options]) == 0
        document = orjson.loads(capsys.readouterr().out)
        document.pop("seconds")
        for each in document["entries"]:
            for scenario in each["scenarios"]:
                scenario.pop("milliseconds")
        results.append(document)
    assert results[0] == results[1]
