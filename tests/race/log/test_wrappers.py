"""Logs of managed clusters: the same races are found in every form of export."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kontend.race.analysis import Options, analyse
from kontend.race.log.log_files import Reading, events_of
from kontend.race.log.wrappers import LACKS_GKE
from race.logs import CONFIG_MAPS, WIDGETS, Log

Event = dict[str, Any]


def lost_element() -> Log:
    """Two clients read a Widget, and the second one drops the condition that the first one adds."""
    log = Log()
    log.user().create(WIDGETS, "w", spec={"size": 1})
    one, two = log.client("one"), log.client("two")
    one.get(f"{WIDGETS}/w")
    two.get(f"{WIDGETS}/w")
    one.patch(f"{WIDGETS}/w/status", {"status": {"conditions": [{"type": "A", "status": "True"}]}})
    two.patch(f"{WIDGETS}/w/status", {"status": {"conditions": [{"type": "B", "status": "True"}]}})
    return log


def _cloud_logging(event: Event) -> Event:
    """An entry of Cloud Logging for an event."""
    reference = event["objectRef"]
    place = f"namespaces/{reference['namespace']}/{reference['resource']}/{reference['name']}"
    place += f"/{reference['subresource']}" if reference.get("subresource") else ""
    group = reference.get("apiGroup") or "core"
    failed = event["responseStatus"]["code"] >= 300
    return {
        "protoPayload": {
            "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
            "serviceName": "k8s.io",
            "methodName": f"io.k8s.{group}.{reference['apiVersion']}.{reference['resource']}.{event['verb']}",
            "resourceName": f"{group}/{reference['apiVersion']}/{place}",
            "authenticationInfo": {"principalEmail": event["user"]["username"]},
            "requestMetadata": {"callerSuppliedUserAgent": event["userAgent"]},
            **({"request": {"@type": "x", **event["requestObject"]}} if event.get("requestObject") else {}),
            "response": {"@type": "x", **event["responseObject"]},
            "status": {"code": 10} if failed else {},
        },
        "timestamp": event["stageTimestamp"],
    }


def _lines(of: Callable[[Event], Any]) -> Callable[[list[Event]], bytes]:
    return lambda events: "".join(json.dumps(of(event)) + "\n" for event in events).encode()


def _document(of: Callable[[list[Event]], Any]) -> Callable[[list[Event]], bytes]:
    return lambda events: json.dumps(of(events), indent=2).encode()


_FORMS: dict[str, Callable[[list[Event]], bytes]] = {
    "plain": _lines(lambda event: event),
    "EKS, aws logs filter-log-events": _document(
        lambda events: {"events": [{"eventId": "1", "message": json.dumps(event)} for event in events]}
    ),
    "EKS, Insights": _document(
        lambda events: {
            "results": [
                [{"field": "@timestamp", "value": "x"}, {"field": "@message", "value": json.dumps(event)}]
                for event in events
            ]
        }
    ),
    "EKS, Insights of the console": _document(lambda events: [{"@message": event} for event in events]),
    "EKS, export to a bucket": lambda events: b"".join(
        f"{event['stageTimestamp']} {json.dumps(event)}\n".encode() for event in events
    ),
    "EKS, Firehose": lambda events: b"".join(
        json.dumps({"messageType": "DATA_MESSAGE", "logEvents": [{"message": json.dumps(event)}]}).encode()
        for event in events
    ),
    "GKE, lines": _lines(_cloud_logging),
    "GKE, gcloud logging read": _document(lambda events: [_cloud_logging(event) for event in events]),
    "AKS, blobs": _lines(
        lambda event: {"category": "kube-audit", "properties": {"log": json.dumps(event) + "\n", "stream": "stdout"}}
    ),
    "AKS, event hub": _lines(lambda event: {"records": [{"properties": {"log": json.dumps(event)}}]}),
    "AKS, Log Analytics": _document(lambda events: [{"log_s": json.dumps(event)} for event in events]),
    "OpenShift, node logs": lambda events: b"".join(f"master-0 {json.dumps(event)}\n".encode() for event in events),
    "container runtime": _lines(lambda event: {"log": json.dumps(event) + "\n", "stream": "stdout", "time": "x"}),
}


def _findings(path: Path) -> tuple[list[str], Reading]:
    reading = Reading()
    result = analyse(events_of([str(path)], reading), Options())
    return [finding.name for finding in result.findings], reading


@pytest.mark.parametrize("form", _FORMS)
def test_the_same_race_is_found_in_every_form_of_export(tmp_path: Path, form: str) -> None:
    events = lost_element().events
    path = tmp_path / "log"
    path.write_bytes(_FORMS[form](events))
    expected, _ = _findings(lost_element().write(tmp_path / "plain"))
    found, reading = _findings(path)
    assert expected
    assert found == expected
    assert (reading.bad, reading.events) == (0, len(events))
    assert reading.lacks == ({LACKS_GKE} if form.startswith("GKE") else set())


def test_gzip_and_zstd_are_opened(tmp_path: Path) -> None:
    library = pytest.importorskip("zstandard")
    text = lost_element().text().encode()
    for name, content in (("a.gz", gzip.compress(text)), ("a.zst", library.ZstdCompressor().compress(text))):
        (tmp_path / name).write_bytes(content)
        found, reading = _findings(tmp_path / name)
        assert found
        assert reading.bad == 0


@pytest.mark.parametrize("end", [300, -3])
def test_a_zstd_file_that_is_cut_off_is_named(tmp_path: Path, end: int) -> None:
    library = pytest.importorskip("zstandard")
    whole = library.ZstdCompressor().compress(lost_element().text().encode() * 50)
    (tmp_path / "a.zst").write_bytes(whole[:end])
    _, reading = _findings(tmp_path / "a.zst")
    assert any("damaged from here on: it ends within a frame" in line for line in reading.named)


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_lines_within_fifty_does_not_matter(tmp_path: Path, seed: int) -> None:
    log = lost_element()
    for number in range(120):  # other traffic around it, before and after
        log.user(f"user{number}").create(CONFIG_MAPS, f"other{number}")
        log.wait(0.01)
    expected, _ = _findings(log.write(tmp_path / "plain"))
    chance = random.Random(seed)
    lines = log.text().splitlines(keepends=True)
    shuffled = [line for _, line in sorted(enumerate(lines), key=lambda pair: pair[0] + chance.uniform(0, 50))]
    (tmp_path / "shuffled").write_text("".join(shuffled))
    found, reading = _findings(tmp_path / "shuffled")
    assert found == expected
    assert reading.late == 0


def test_an_event_that_comes_too_late_is_counted(tmp_path: Path) -> None:
    log = Log()
    for number in range(300):
        log.user().create(CONFIG_MAPS, f"c{number}")
        log.wait(0.01)
    lines = log.text().splitlines(keepends=True)
    (tmp_path / "log").write_text("".join([*lines[1:], lines[0]]))
    _, reading = _findings(tmp_path / "log")
    assert reading.late == 1
