"""A reconcile that depends on more than its answers is found, and what it depends on is named."""

from __future__ import annotations

import copy
import dataclasses
import email.utils
import functools
import itertools
import logging
import os
import random
import re
import secrets
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kontend.explore.UNKNOWN import NOWHERE, Behaviour, Conversation, read, written

from explore.widgets import CRD, KIND, WIDGET, Widgets
from kontend.cli import main
from kontend.explore import Bounds, Nondeterminism, Scenario, Verdict, check
from kontend.explore.program.progress import Done, Progress, difference
from kontend.kube.meta.names import Key
from kontend.runtime.client.api import Api
from kontend.runtime.client.call import Call
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import BadController, Controller, Request
from kontend.runtime.guards import Guards

EXAMPLE = Path(__file__).parents[2] / "examples" / "double_plan.py"
HERE = Path(__file__).name
LOG = logging.getLogger(__name__)
FLAGS: dict[str, bool] = {}


class Writes(Controller):
    """Writes a value into the status, once."""

    kind = KIND

    def __init__(self, value: Callable[[], Any]) -> None:
        self.value = value

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write what the function gives."""
        widget = await api.get(self.kind, request)
        value = self.value()
        if "value" not in (widget.get("status") or {}):
            base = copy.deepcopy(widget)
            widget["status"] = {"value": value}
            await api.status.patch(widget, merge_from(base))


def explored(controller: Controller) -> Verdict:
    """What a small search finds."""
    return check(Scenario(controllers=[controller], crds=[CRD], objects=[WIDGET], bounds=Bounds(lag=0)))


def found(controller: Controller) -> str:
    """What is said about a controller that is not deterministic."""
    with pytest.raises(Nondeterminism) as caught:
        explored(controller)
    return str(caught.value)


@dataclasses.dataclass
class Plan:
    """Has a name that nobody gave it."""

    id: str = dataclasses.field(default_factory=lambda: str(uuid.uuid4()))
    made: float = dataclasses.field(default_factory=time.time)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (lambda: int(time.time()), "time.time(); use api.now()"),
        (lambda: time.time_ns() // 10**12, "time.time_ns(); use api.now()"),
        (lambda: datetime.now(UTC).year, "datetime.now(); use api.now()"),
        (lambda: date.today().isoformat(), "date.today(); use api.now()"),
        (lambda: time.gmtime().tm_year, "time.gmtime(); use api.now()"),
        (lambda: time.strftime("%Y"), "time.strftime(); use api.now()"),
        (lambda: Plan(id="p").made, "time.time(); use api.now()"),
        (lambda: random.random(), "random.random(); use api.uuid(), or random.Random(seed)"),
        (lambda: random.choice("ab"), "random.choice(); use api.uuid(), or random.Random(seed)"),
        (lambda: random.Random().randint(1, 6), "random.Random() without a seed; use api.uuid()"),
        (lambda: random.SystemRandom().randint(1, 6), "random.SystemRandom().randint(); use api.uuid()"),
        (lambda: os.urandom(4).hex(), "os.urandom(); use api.uuid()"),
        (lambda: secrets.token_hex(4), "secrets.token_hex(); use api.uuid()"),
        (lambda: str(uuid.uuid4()), "uuid.uuid4(); use api.uuid()"),
        (lambda: Plan().id, "uuid.uuid4(); use api.uuid()"),
    ],
)
def test_clocks_and_dice_are_named_with_what_to_use_instead(value: Callable[[], Any], named: str) -> None:
    assert re.search(rf"{HERE}:\d+ calls {re.escape(named)}", found(Writes(value)))


def test_a_clock_is_an_error_even_when_two_runs_agree() -> None:
    message = found(Writes(lambda: time.time() > 0))
    line = next(
        number for number, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "time() > 0" in text
    )
    assert message == (
        "writes default/w: it depends on more than the answers it gets\n"
        f"  {HERE}:{line} calls time.time(); use api.now()"
    )


def test_a_difference_is_shown_where_it_is() -> None:
    message = found(Writes(lambda: {"kept": list(range(100)), "id": uuid.uuid4().hex}))
    first, second, third = message.split("\n  ")
    assert first == "writes default/w: with the same answers it did something else"
    assert re.fullmatch(
        rf"{HERE}:\d+: patch {KIND} default/w/status: "
        r'status\.value\.id is "[0-9a-f]{32}" once and "[0-9a-f]{32}" another time',
        second,
    )
    assert third.endswith("calls uuid.uuid4(); use api.uuid()")


def test_durations_may_be_logged() -> None:
    def logged() -> str:
        begun = time.monotonic()
        LOG.warning("it took %s", time.perf_counter() - begun)
        return "done"

    assert explored(Writes(logged)).ok


def test_nothing_may_depend_on_durations() -> None:
    message = found(Writes(time.perf_counter_ns))
    assert "status.value is" in message
    assert re.search(rf"{HERE}:\d+ calls time\.perf_counter_ns\(\); a duration may be logged", message)


def test_a_library_that_rolls_dice_is_named_with_the_line_that_leads_there() -> None:
    message = found(Writes(lambda: email.utils.make_msgid(domain="example.com")))
    assert re.search(rf"{HERE}:\d+ leads to a call of time\.time\(\); use api\.now\(\)", message)


@pytest.mark.parametrize(
    "value",
    [
        lambda: random.Random(7).randint(1, 6),
        lambda: time.strftime("%Y", time.gmtime(0)),
        lambda: (
            time.gmtime(
                86_400,
            ).tm_yday
        ),
        lambda: datetime.fromtimestamp(0, UTC).isoformat(),
        lambda: str(uuid.uuid5(uuid.NAMESPACE_URL, "example.com")),
    ],
)
def test_what_follows_from_its_arguments_is_fine(value: Callable[[], Any]) -> None:
    assert explored(Writes(value)).ok


class Counts(Controller):
    """Remembers what it saw, in several ways."""

    kind = KIND
    memory: ClassVar[tuple[str, ...]] = ("known",)
    known = 0
    shared: ClassVar[list[str]] = []

    def __init__(self, remember: Callable[[Counts], object]) -> None:
        self.remember = remember
        self.count = 0
        self.seen: dict[str, list[str]] = {"names": []}
        self.client: object = None
        self.pool: object = object()
        self.flag = False

    @functools.cached_property
    def labels(self) -> dict[str, str]:
        """What only has to be worked out once."""
        return {"a": "b"}

    @functools.lru_cache(maxsize=8)  # noqa: B019, the cache is what is tested
    def doubled(self, value: int) -> int:
        """The same."""
        return 2 * value

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, and remember."""
        await api.get(self.kind, request)
        self.remember(self)


def _counted(counts: Counts) -> None:
    counts.count += 1


def _toggled(counts: Counts) -> None:
    counts.flag = not counts.flag


def _added(counts: Counts) -> None:
    counts.fresh = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("remember", "name"),
    [
        (_counted, "count"),
        (_added, "fresh"),
        (_toggled, "flag"),
        (lambda counts: counts.seen["names"].append("w"), "seen"),
    ],
)
def test_attributes_that_are_not_declared_are_named(remember: Callable[[Counts], object], name: str) -> None:
    assert (
        f"{HERE}: the reconcile changes self.{name}, which is not in `memory`; name it there: "
        f'memory = ("known", "{name}")'
    ) in found(Counts(remember))


def test_attributes_of_the_class_are_named() -> None:
    assert f"{HERE}: the reconcile changes Counts.shared, which all instances share; change self.shared" in found(
        Counts(lambda counts: counts.shared.append("w"))
    )


def test_global_variables_are_named() -> None:
    message = found(Counts(lambda _: FLAGS.setdefault(str(len(FLAGS)), True)))
    assert f"{HERE}: the reconcile changes the global variable FLAGS; make it an attribute of the controller" in message
    assert 'memory = ("known", "flags")' in message


def _made(counts: Counts) -> None:
    counts.client = counts.client or object()


def _dropped(counts: Counts) -> None:
    counts.pool = None


def _remembered(counts: Counts) -> None:
    counts.known = min(counts.known + 1, 3)


@pytest.mark.parametrize(
    "remember",
    [
        _remembered,
        _made,
        _dropped,
        lambda counts: counts.labels,
        lambda counts: counts.doubled(2),
        lambda _: LOG.warning("reconciled"),
    ],
)
def test_declared_memory_caches_and_clients_are_fine(remember: Callable[[Counts], object]) -> None:
    assert explored(Counts(remember)).ok


def test_memory_that_is_not_json_is_refused() -> None:
    class Sets(Counts):
        memory = ("known",)
        known: Any = frozenset()

    with pytest.raises(BadController, match=r"sets: what `memory` names must be plain JSON \(not a set, but a sorted"):
        explored(Sets(_made))


def test_a_search_leaves_the_memory_of_the_controller_as_it_was() -> None:
    controller = Counts(_remembered)
    first, second = explored(controller), explored(controller)
    assert controller.known == 0
    assert first.states == second.states


def test_a_deterministic_controller_is_fine() -> None:
    assert explored(Widgets()).ok


class Strays(Controller):
    """Makes another call after some runs, because of something that it keeps in an object."""

    kind = KIND

    def __init__(self, after: int) -> None:
        self.runs = itertools.count(1)
        self.after = after

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read twice."""
        number = next(self.runs)
        await api.get(self.kind, "default/a" if number <= self.after else "default/b")
        await api.get(self.kind, request)


def _behaviour(controller: Controller) -> Behaviour:
    return Behaviour(controller, Guards(), lambda _: True, 0, lambda *_: None)


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_cause_that_is_hidden_in_an_object_is_asked_for(after: int) -> None:
    """Whether the second of two runs strays, or a later one on its way to where it should go on."""
    start = (Key("default", "w"), b"{}", "")
    behaviour = _behaviour(Strays(after))
    with pytest.raises(Nondeterminism) as caught:
        behaviour.next(behaviour.root(*start), 1, lambda: b"={}", start)
    assert str(caught.value).split("\n  ")[1:] == [
        f"{HERE}:{_line('default/a')}: it makes the call 'cached get {KIND} default/a' once "
        f"and makes the call 'cached get {KIND} default/b' another time",
        "nothing was called that is known to differ: does it keep something from one run to the next in an object? "
        "Name in `memory` what it remembers, as plain data",
    ]


def _line(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


class Tells(Controller):
    """Tells somebody whenever it runs."""

    kind = KIND

    def __init__(self, tell: Callable[[], object]) -> None:
        self.tell = tell

    async def reconcile(self, request: Request, api: Api) -> None:
        """Tell, and read."""
        self.tell()
        await api.get(self.kind, request)


def test_later_on_one_run_in_sixteen_is_made_twice() -> None:
    runs: list[int] = []
    behaviour = _behaviour(Tells(lambda: runs.append(1)))
    for number in range(82):
        behaviour.root(Key("default", f"w{number}"), b"{}", "")
    assert behaviour.runs == 82
    assert len(runs) == 82 + 50 + 2  # those with the numbers 64 and 80


def test_profilers_are_left_as_they_were() -> None:
    def profiler(*_: object) -> None:
        """Does nothing."""

    sys.setprofile(profiler)
    try:
        explored(Writes(lambda: 1))
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)


class Finally(Controller):
    """Writes on its way out, whatever happened."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Read, and read again."""
        try:
            await api.get(self.kind, request)
        finally:
            await api.live.get(self.kind, request)


def test_a_reconcile_that_makes_calls_while_it_is_closed_can_be_explored() -> None:
    assert explored(Finally()).ok


def test_addresses_in_errors_are_no_difference() -> None:
    class Raises(Counts):
        async def reconcile(self, request: Request, api: Api) -> None:
            await api.get(self.kind, request)
            raise ValueError(f"{object()}")

    verdict = explored(Raises(_made))
    assert [each.property for each in verdict.violations] == ["fails forever"]
    assert "ValueError: <object object>" in str(verdict)


def _ended(again: bool = False, error: str = "", memory: bytes = b"{}", drawn: int = 0) -> Progress:
    return Progress(None, Done(again, error, memory), drawn, NOWHERE)


CALL = Call("update", KIND, "default", "w", body=b'{"spec":{"a":[{"b":1},{"c":2}]}}')


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (_ended(), _ended(), ""),
        (_ended(error="ValueError: 1"), _ended(error="ValueError: 2"), ""),
        (_ended(), _ended(again=True), "it ends once and ends, to run again, another time"),
        (_ended(), _ended(error="ValueError: 1"), "it ends once and fails with 'ValueError: 1' another time"),
        (
            _ended(memory=b'{"seen":1}'),
            _ended(memory=b'{"seen":2}'),
            "what it remembers: seen is 1 once and 2 another time",
        ),
        (_ended(), _ended(drawn=1), "it has drawn 0 uuids once and 1 another time"),
        (CALL, _ended(), f"it makes the call 'update {KIND} default/w' once and ends another time"),
        (CALL, {"body": b'{"spec":{"a":[{"b":1},{"c":3}]}}'}, "spec.a[1].c is 2 once and 3 another time"),
        (
            CALL,
            {"body": b'{"spec":{"a":[{"c":2},{"b":1}]}}'},
            'the order of spec.a is [{"b":1},{"c":2}] once and [{"c":2},{"b":1}] another time',
        ),
        (CALL, {"body": b"{}"}, 'spec is {"a":[{"b":1},{"c":2}]} once and not there another time'),
        (CALL, {"query": (("force", "true"),)}, "its query is () once and (('force', 'true'),) another time"),
        (CALL, {"body": b"\xff"}, r"""b'{"spec":{"a":[{"b":1},{"c":2}]}}' once and b'\xff' another time"""),
    ],
)
def test_the_smallest_difference_is_told(first: Any, second: Any, told: str) -> None:
    if isinstance(second, dict):
        second = Progress(dataclasses.replace(CALL, **second), None, 0, NOWHERE)
        told = f"update {KIND} default/w: {told}"
    first = Progress(first, None, 0, NOWHERE) if isinstance(first, Call) else first
    assert difference(first, second) == told


# Other processes

SETS = """
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
    file.write_text(SETS.replace("VALUE", value))
    return str(file)


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """What the files of these tests leave behind in this process."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    sys.modules.pop("kontend_user_widgets", None)


def test_the_order_of_a_set_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _file(tmp_path, "list({'red', 'green', 'blue', 'white'})")
    assert main(["explore", file, "--failures", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert (
        "kontend explore: widgets default/example: with the same answers it did something else\n"
        "  widgets.py:14: update Widget.example.com/v1 default/example: the order of spec.colors is ["
    ) in told
    assert (
        "  it was held again in another process: the order of a set (sort it), or something else that differs from one "
        "process to the next\n"
    ) in told
    assert main(["explore", file, "--failures", str(tmp_path), "--one-process"]) == 0


def test_the_hash_of_a_string_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", _file(tmp_path, "[str(hash('red'))]")]) == 2
    told = capsys.readouterr().err
    assert "widgets.py:14: update Widget.example.com/v1 default/example: spec.colors[0] is " in told
    assert "widgets.py:13 calls hash(); it differs from one process to the next" in told


def test_a_sorted_set_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", _file(tmp_path, "sorted({'red', 'green', 'blue', 'white'})")]) == 0
    assert capsys.readouterr().err == ""


def test_a_file_that_does_not_run_in_another_process_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(_file(tmp_path, "['red']"))
    file.write_text(file.read_text() + "\nif 'held_again' in sys.argv[0]:\n    raise OSError('only once')\n")
    assert main(["explore", str(file)]) == 2
    told = capsys.readouterr().err
    assert "widgets.py: its controllers could not be run in another process: " in told
    assert "it cannot be imported: OSError: only once (--one-process goes without)" in told


def test_the_command_says_the_same_in_every_process(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "kontend.cli",
        "explore",
        str(EXAMPLE),
        "--one-process",
        "--failures",
        str(tmp_path),
    ]
    said = {
        re.sub(
            r"[\d.]+ s\n",
            "",
            subprocess.run(
                command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=False
            ).stdout,
        )
        for seed in ("5", "6")
    }
    assert len(said) == 1
    assert "holds in all" in said.pop()


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


@given(
    st.tuples(st.builds(Key, TEXTS, TEXTS), st.binary(max_size=8), TEXTS),
    st.lists(st.tuples(CALLS, st.binary(max_size=8)), max_size=2),
    st.one_of(
        st.builds(lambda call: Progress(call, None, 2, NOWHERE), CALLS),
        st.builds(_ended, st.booleans(), TEXTS, st.binary(max_size=8), st.integers(0, 9)),
    ),
)
def test_a_conversation_that_was_written_down_is_read_as_it_was(start: Any, path: Any, outcome: Progress) -> None:
    conversation = Conversation(start, path, outcome)
    assert read(orjson.loads(orjson.dumps(written(conversation)))) == conversation
