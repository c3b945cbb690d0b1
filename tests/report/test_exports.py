"""Traces as OpenTelemetry spans and as Parquet files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kontend.cli import main
from kontend.report.archive import slug, write_archive
from report.documents import faults, large, lost_update, never_settles


@pytest.fixture
def archive(tmp_path: Path) -> str:
    """The archive of a lost update."""
    return str(write_archive(tmp_path, lost_update()))


def otel(archive: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The exported spans."""
    pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")
    assert main(["report", archive, "--otel"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_calls_are_children_of_reconciles(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And reconciles of the violation."""
    spans = otel(archive, capsys)
    by_id = {span["context"]["span_id"]: span for span in spans}
    assert len(by_id) == len(spans)
    assert len({span["context"]["trace_id"] for span in spans}) == 1
    (root,) = (span for span in spans if span["parent_id"] is None)
    assert root["name"] == "lost update"
    assert root["status"]["status_code"] == "ERROR"
    reconciles = [span for span in spans if span["name"].startswith("reconcile ")]
    assert reconciles
    calls = [span for span in spans if "k8s.verb" in span["attributes"]]
    for span in calls:
        parent = by_id[span["parent_id"]]
        assert parent["start_time"] <= span["start_time"] <= span["end_time"] <= parent["end_time"]
    patches = [span for span in calls if span["attributes"]["k8s.verb"] == "patch"]
    assert all(by_id[span["parent_id"]] in reconciles for span in patches)
    assert [span["attributes"]["kontend.at_fault"] for span in patches].count(True) == 2
    assert any(span["attributes"].get("kontend.write.base") for span in patches)


def test_the_same_trace_gives_the_same_spans(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Byte for byte."""
    assert otel(archive, capsys) == otel(archive, capsys)


def test_deliveries_are_events(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With the version that reached the cache."""
    (root,) = (span for span in otel(archive, capsys) if span["parent_id"] is None)
    delivered = [event for step in lost_update().steps for event in step.delivered]
    assert [event["attributes"]["kontend.version"] for event in root["events"]] == [
        event.version for event in delivered
    ]


def test_a_row_for_each_step(tmp_path: Path) -> None:
    """Of several traces, with nested reads and writes."""
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    documents = [lost_update(), never_settles(), faults(), large(300, 20)]
    archives = [str(write_archive(tmp_path, document)) for document in documents]
    assert main(["report", *archives, "--parquet", "--output", str(tmp_path / "out.parquet")]) == 0
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert len(rows) == sum(len(document.steps) for document in documents)
    first = [row for row in rows if row["trace"] == slug(documents[0])]
    fault = [row for row in first if row["at_fault"]]
    assert [row["step"] for row in fault] == list(lost_update().violation.culprits)
    assert fault[-1]["writes"][0]["fields"][0]["path"] == "data.next"


def test_a_parquet_file_needs_a_name(archive: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not for a terminal."""
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    assert main(["report", archive, "--parquet"]) == 2
    assert "name it with --output FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "missing", "module"),
    [("otel", "opentelemetry", "kontend.report.otel"), ("parquet", "pyarrow", "kontend.report.parquet")],
)
def test_a_missing_extra_is_named(
    archive: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    missing: str,
    module: str,
) -> None:
    """With the command that installs it."""
    import sys

    monkeypatch.delitem(sys.modules, module, raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Missing(missing), *sys.meta_path])
    assert main(["report", archive, f"--{option}", "--output", "x"]) == 2
    assert f"pip install 'kontend[{option}]'" in capsys.readouterr().err


class _Missing:
    """Refuses to find a package."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] == self._name:
            raise ModuleNotFoundError(f"No module named {self._name!r}", name=self._name)
