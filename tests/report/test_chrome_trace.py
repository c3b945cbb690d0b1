"""Traces in the Trace Event Format."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from kontend.report.chrome_trace import chrome_trace
from kontend.report.document import Document
from report.documents import large, lost_update, never_settles


def events(document: Document, phase: str) -> list[dict[str, Any]]:
    """The events of one phase."""
    return [event for event in chrome_trace([document])["traceEvents"] if event["ph"] == phase]


def threads(document: Document) -> dict[int, str]:
    """The names of the threads."""
    return {event["tid"]: event["args"]["name"] for event in events(document, "M") if event["name"] == "thread_name"}


def test_each_actor_and_each_cache_is_a_thread() -> None:
    names = set(threads(lost_update()).values())
    assert names == {"ports#1", "ports#2", "cache of ports#1", "cache of ports#2", "API server", "user"}


def test_slices_of_a_thread_are_nested() -> None:
    for document in (lost_update(), never_settles(), large(300, 20)):
        open_slices: dict[int, list[int]] = {}
        for event in sorted(events(document, "X"), key=lambda entry: (entry["ts"], -entry["dur"])):
            ends = open_slices.setdefault(event["tid"], [])
            while ends and ends[-1] <= event["ts"]:
                ends.pop()
            end = event["ts"] + event["dur"]
            assert not ends or end <= ends[-1], event
            ends.append(end)


def test_a_reconcile_contains_its_calls() -> None:
    slices = [event for event in events(lost_update(), "X") if threads(lost_update())[event["tid"]] == "ports#1"]
    reconcile = next(event for event in slices if event["name"] == "reconcile default/c")
    calls = [event for event in slices if "get" in event["name"] or "patch" in event["name"]][:2]
    for call in calls:
        assert reconcile["ts"] <= call["ts"]
        assert call["ts"] + call["dur"] <= reconcile["ts"] + reconcile["dur"]


def test_an_arrow_leads_from_each_write_to_its_delivery() -> None:
    starts, ends = ({event["id"]: event for event in events(lost_update(), phase)} for phase in "sf")
    assert starts.keys() == ends.keys() != set()
    names = threads(lost_update())
    for identity, start in starts.items():
        assert names[start["tid"]] == "API server"
        assert names[ends[identity]["tid"]].startswith("cache of ")
        assert start["ts"] < ends[identity]["ts"]


def test_the_steps_at_fault_are_marked() -> None:
    assert [event["name"] for event in events(lost_update(), "i")] == ["at fault: step 6", "at fault: step 9"]


def test_steps_with_times_keep_them() -> None:
    document = lost_update()
    timed = replace(document, steps=tuple(replace(step, time=5 + step.number / 4) for step in document.steps))
    slices = [event for event in events(timed, "X") if event["args"].get("text")]
    assert slices[0]["ts"] == 0
    assert max(event["ts"] for event in slices) == round((len(document.steps) - 1) / 4 * 1e6)


def test_a_trace_is_json_and_documents_are_processes() -> None:
    trace = orjson.loads(orjson.dumps(chrome_trace([lost_update(), never_settles()])))
    assert {event["pid"] for event in trace["traceEvents"]} == {1, 2}
    names = [event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"]
    assert names == ["blind: lost update", "fight: never settles"]


def test_a_document_without_steps_has_a_process() -> None:
    assert events(replace(lost_update(), steps=(), violation=replace(lost_update().violation, culprits=())), "X") == []
