"""Logs are read as a stream: compressed, several at once, damaged, of any level."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from kontend.race.analysis import Options, analyse
from kontend.race.log.event import AuditEvent
from kontend.race.log.log_files import BadLog, Reading, events_of
from race.logs import CONFIG_MAPS, Log

C = f"{CONFIG_MAPS}/c"


def lossy(log: Log | None = None) -> Log:
    """A log with a lost update."""
    log = log or Log()
    one, two = log.client("one"), log.client("two")
    log.user().create(CONFIG_MAPS, "c", data={"next": "0"})
    one.get(C)
    two.get(C)
    one.patch(C, {"data": {"next": "1"}})
    two.patch(C, {"data": {"next": "2"}})
    return log


def read(*paths: Path) -> tuple[list[AuditEvent], Reading]:
    """The events of files."""
    reading = Reading()
    return list(events_of([str(path) for path in paths], reading)), reading


def test_a_compressed_log_is_read_as_it_is(tmp_path: Path) -> None:
    """Its name does not matter."""
    path = tmp_path / "audit-2026-11-16.log.gz"
    path.write_bytes(gzip.compress(lossy().text().encode()))
    events, reading = read(path)
    assert len(events) == 5
    assert reading.bad == 0
    assert [finding.name for finding in analyse(events, Options()).findings] == ["lost update"]


def test_bad_lines_are_named_by_number(tmp_path: Path) -> None:
    """The others are read."""
    lines = lossy().text().splitlines()
    lines[1:1] = ["{not json", '{"kind": "Pod", "apiVersion": "v1"}', "", "[1]"]
    lines.append(lines[-1][:50])
    path = tmp_path / "audit.log"
    path.write_text("\n".join(lines))
    events, reading = read(path)
    assert len(events) == 5
    assert reading.bad == 4
    assert [line.partition(": ")[0] for line in reading.named] == [f"audit.log:{number}" for number in (2, 3, 5, 10)]
    assert "not JSON" in reading.named[0]
    assert "expected kind Event of audit.k8s.io, found 'Pod'" in reading.named[1]
    assert "the file ends within it" in reading.named[3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stageTimestamp": "yesterday"}, "stageTimestamp: expected a time, found 'yesterday'"),
        ({"requestReceivedTimestamp": None}, "requestReceivedTimestamp: missing"),
    ],
)
def test_an_event_without_its_times_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """Nothing can be said of its order."""
    log = lossy()
    log.events[2] |= change
    _, reading = read(log.write(tmp_path / "a"))
    assert reading.named == [f"a:3: {message}"]


@pytest.mark.parametrize(
    "change",
    [
        {"user": None, "userAgent": None, "sourceIPs": None},
        {"objectRef": None},
        {"objectRef": {"resource": 7}},
        {"responseStatus": "no", "responseObject": [1]},
        {"responseObject": {"metadata": {"resourceVersion": "x", "name": 1}}},
        {"requestObject": "x"},
        {"responseObject": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": None}},
        {"annotations": {"audit.k8s.io/truncated": "true"}, "requestObject": None, "responseObject": None},
    ],
)
def test_strange_events_do_no_harm(tmp_path: Path, change: dict[str, Any]) -> None:
    """The analysis goes on after any line."""
    for at in range(5):
        log = lossy()
        log.events[at] |= change
        events, _ = read(log.write(tmp_path / "a"))
        analyse(events, Options())


def test_a_compressed_log_that_is_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    """As it is copied while it is being written."""
    path = tmp_path / "audit.log.gz"
    path.write_bytes(gzip.compress(lossy().text().encode() * 200)[:-200])
    events, reading = read(path)
    assert events
    assert "damaged" in reading.named[-1]


def test_the_logs_of_two_servers_are_merged_by_time(tmp_path: Path) -> None:
    """Each of them saw one of the writers."""
    log = lossy()
    for number in (0, 1):
        (tmp_path / str(number)).write_text("".join(f"{json.dumps(event)}\n" for event in log.events[number::2]))
    events, _ = read(tmp_path / "0", tmp_path / "1")
    assert [event.completed for event in events] == sorted(event.completed for event in events)
    assert [finding.name for finding in analyse(events, Options()).findings] == ["lost update"]


def test_lists_of_events_are_read(tmp_path: Path) -> None:
    """A webhook gets several at once."""
    path = tmp_path / "a"
    path.write_text(json.dumps({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": lossy().events}))
    assert len(read(path)[0]) == 5


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With the reason."""
    with pytest.raises(BadLog, match=r"none\.log: No such file or directory"):
        read(tmp_path / "none.log")


def test_secrets_do_not_show(tmp_path: Path) -> None:
    """Neither their values nor those in the annotation of kubectl."""
    log = Log()
    path = "/api/v1/namespaces/default/secrets"
    one, two = log.client("one"), log.client("two")
    log.user().create(path, "s", stringData={"password": "hunter2"})
    for value in ("swordfish", "sesame"):
        one.get(f"{path}/s")
        two.get(f"{path}/s")
        one.patch(f"{path}/s", {"stringData": {"password": value}})
        two.patch(f"{path}/s", {"stringData": {"password": f"{value}2"}})
    result = log.judged(tmp_path)
    assert [finding.name for finding in result.findings] == ["lost update"]
    shown = repr(result.findings)
    assert "secret 1" in shown
    for value in ("c3dvcmRmaXNo", "c2VzYW1l", "aHVudGVyMg", "swordfish", "sesame", "hunter2"):
        assert value not in shown


def test_a_long_log_takes_little_memory(tmp_path: Path) -> None:
    """Twenty megabytes of many large objects are read in much less."""
    log = lossy()
    path = tmp_path / "audit.log"
    event = json.dumps(log.events[0])
    with path.open("w") as file:
        for number in range(1500):
            large = event.replace('"next": "0"', f'"next": "{"x" * 6000}"').replace('"c"', f'"c{number}"')
            file.write(large + "\n")
    size = path.stat().st_size
    assert size > 15_000_000
    tracemalloc.start()
    try:
        analyse(events_of([str(path)], Reading()), Options(memory=1_000_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size / 2


def test_a_directory_is_refused_with_the_files_to_name(tmp_path: Path) -> None:
    with pytest.raises(BadLog, match=r"is a directory; name the files in it, as in .*/\*\.log"):
        list(events_of([str(tmp_path)], Reading()))


def test_an_object_without_a_kind_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "other.log"
    path.write_text('{"message": "started"}\n')
    reading = Reading()
    assert list(events_of([str(path)], reading)) == []
    assert any("expected kind Event of audit.k8s.io, found an object without a kind" in each for each in reading.named)
