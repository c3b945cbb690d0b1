"""Recorded runs are made again in fresh processes, which shows the order of sets and hashes of texts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explore.widgets import KIND
from kontend.cli import main
from kontend.explore.program.driven import Exchange, Start
from kontend.explore.program.progress import Done, Failure, Progress
from kontend.explore.program.tree import RecordedRun
from kontend.explore.recheck import dump_run, load_run
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call

EXAMPLE = Path(__file__).parents[2] / "examples" / "double_plan.py"
SOURCE = """
import sys
from kontend import Api, Controller, Request

print("imported", "!" * 100_000)

class Widgets(Controller):
    kind = "Widget.example.com/v1"

    async def reconcile(self, request: Request, api: Api) -> None:
        widget = await api.get(self.kind, request)
        if not widget["spec"].get("colors"):
            widget["spec"]["colors"] = VALUE
            await api.update(widget)
"""


def _file(directory: Path, value: str) -> str:
    file = directory / "widgets.py"
    file.write_text(SOURCE.replace("VALUE", value))
    return str(file)


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Remove what the files of these tests leave behind in this process."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    sys.modules.pop("kontend_user_widgets", None)


#: The order of a set that the text of the code does not show.
HIDDEN = "list(getattr(__import__('builtins'), 'set')(['red', 'green', 'blue', 'white']))"


def test_the_order_of_a_set_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _file(tmp_path, HIDDEN)
    assert main(["explore", file, "--scenario", "controllers", "--failures", str(tmp_path)]) == 2
    printed = capsys.readouterr().err
    assert (
        "kontend explore: widgets default/example: nondeterministic: identical responses led to different requests\n"
        "  widgets.py:14: update Widget.example.com/v1 default/example: the order of spec.colors is ["
    ) in printed
    assert (
        "  it was run again in another process: the order of a set (sort it), or something else that differs from one "
        "process to the next\n"
    ) in printed
    assert main(["explore", file, "--scenario", "controllers", "--failures", str(tmp_path), "--one-process"]) == 0


def test_a_sorted_set_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _file(tmp_path, "sorted({'red', 'green', 'blue', 'white'})")
    assert main(["explore", file, "--scenario", "controllers"]) == 0
    assert capsys.readouterr().err == ""


def test_a_file_that_does_not_run_in_another_process_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(_file(tmp_path, "['red']"))
    file.write_text(file.read_text() + "\nif 'recheck' in sys.argv[0]:\n    raise OSError('only once')\n")
    assert main(["explore", str(file)]) == 2
    printed = capsys.readouterr().err
    assert "widgets.py: its controllers could not be run in another process: " in printed
    assert "it cannot be imported: OSError: only once (--one-process goes without)" in printed


def test_the_command_prints_the_same_in_every_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kontend.cli", "explore", str(EXAMPLE), "--one-process"]
    printed = set()
    for seed in ("5", "6"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run(
            [*command, "--failures", str(tmp_path)], env=environment, capture_output=True, text=True, check=False
        )
        printed.add(re.sub(r"[\d.]+ s\n", "", run.stdout))
    assert len(printed) == 1
    assert "holds in all" in printed.pop()


TEXTS = st.text(max_size=5)
CALLS = st.builds(
    Call,
    st.sampled_from(["get", "update", "patch"]),
    st.just(KIND),
    TEXTS,
    TEXTS,
    body=st.binary(max_size=8),
    query=st.lists(st.tuples(TEXTS, TEXTS), max_size=2).map(tuple),
    cached=st.booleans(),
)
FAILURES = st.none() | st.builds(Failure, TEXTS, TEXTS)


@given(
    st.builds(Start, st.builds(Key, TEXTS, TEXTS), st.binary(max_size=8), TEXTS, st.integers(-1, 9)),
    st.lists(st.builds(Exchange, CALLS, st.integers(0, 3), st.binary(max_size=8)), max_size=2),
    st.one_of(
        st.builds(
            Progress, st.lists(CALLS, min_size=1, max_size=2).map(tuple), st.none(), st.integers(0, 9), st.just(())
        ),
        st.builds(
            Progress,
            st.just(()),
            st.builds(Done, st.booleans(), FAILURES, st.binary(max_size=8)),
            st.integers(0, 9),
            st.just(()),
        ),
    ),
)
def test_a_recorded_run_is_the_same_after_json(start: Start, exchanges: Any, progress: Progress) -> None:
    recorded = RecordedRun(start, exchanges, progress)
    assert load_run(orjson.loads(orjson.dumps(dump_run(recorded)))) == recorded
