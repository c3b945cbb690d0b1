"""Clocks, random numbers, process ids and hashes are reported with the line that calls them."""

from __future__ import annotations

import dataclasses
import email.utils
import logging
import os
import random
import re
import secrets
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from explore.program.writers import Writes, explored, nondeterminism

HERE = Path(__file__).name
LOG = logging.getLogger(__name__)
#: A connection from before the search, as a client has that a module makes.
OPEN = socket.socketpair()


@dataclasses.dataclass
class Plan:
    """Has a random id and the current time by default."""

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
        (lambda: os.getpid(), "os.getpid(); it differs from one process to the next"),
        (lambda: threading.get_ident(), "threading.get_ident(); it differs from one process to the next"),
        (lambda: OPEN[0].send(b"x"), "socket.send(); what is not in the cluster cannot be explored"),
        (lambda: hash("red") % 7, "hash(); the hash of a text differs from one process to the next; use hashlib"),
    ],
)
def test_impure_calls_are_reported_with_what_to_use_instead(value: Callable[[], Any], named: str) -> None:
    assert re.search(rf"{HERE}:\d+ calls {re.escape(named)}", nondeterminism(Writes(value)))


def test_a_clock_is_an_error_even_when_two_runs_agree() -> None:
    message = nondeterminism(Writes(lambda: time.time() > 0))
    lines = Path(__file__).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "time() > 0" in text)
    assert message == (
        "writes default/w: nondeterministic: it depends on more than its responses\n"
        f"  {HERE}:{line} calls time.time(); use api.now()"
    )


def test_durations_may_be_logged() -> None:
    def logged() -> str:
        begun = time.monotonic()
        LOG.warning("it took %s", time.perf_counter() - begun)
        return "done"

    assert explored(Writes(logged)).ok


def test_a_write_must_not_depend_on_durations() -> None:
    message = nondeterminism(Writes(time.perf_counter_ns))
    assert "status.value is" in message
    assert re.search(rf"{HERE}:\d+ calls time\.perf_counter_ns\(\); a duration may be logged", message) or (
        re.search(r"writers\.py:\d+ calls time\.perf_counter_ns\(\); a duration may be logged", message)
    )


def test_a_write_must_not_depend_on_addresses() -> None:
    message = nondeterminism(Writes(lambda: id(object()) + id([])))
    assert re.search(rf"{HERE}:\d+ calls id\(\); it differs from one process to the next", message)


def test_impure_calls_of_a_library_are_reported_with_the_line_that_leads_there() -> None:
    message = nondeterminism(Writes(lambda: email.utils.make_msgid(domain="example.com")))
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
        lambda: {"a": 1}["a"],
    ],
)
def test_calls_that_depend_on_their_arguments_alone_are_fine(value: Callable[[], Any]) -> None:
    assert explored(Writes(value)).ok


def test_profilers_are_left_as_they_were() -> None:
    def profiler(*_: object) -> None:
        """Do nothing."""

    sys.setprofile(profiler)
    try:
        explored(Writes(lambda: 1))
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
