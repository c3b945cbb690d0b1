"""The trace document: written and read back, and refused where it is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.report.decoding import BadDocument
from kontend.report.document import (
    Actor,
    CallRecord,
    Cycle,
    Delivered,
    Document,
    Explanation,
    FieldChange,
    Fix,
    Line,
    Read,
    Source,
    Step,
    Write,
    hash_of,
)

OLD = {"kind": "ConfigMap", "metadata": {"name": "c", "resourceVersion": "3"}, "data": {"next": "8000"}}
NEW = {"kind": "ConfigMap", "metadata": {"name": "c", "resourceVersion": "4"}, "data": {"next": "8001"}}
C = "ConfigMap/v1 default/c"


def document() -> Document:
    """A small document that uses every part."""
    line = Line("ports.py", 31, "await api.patch(c)", "reconcile")
    return Document(
        source=Source("ports.py", "blind", "abc"),
        violation=Explanation(
            "lost update", "ports#2 wrote", (2,), Fix("lock=True", line), ("stale read in step 1",), cycle=Cycle(1, 2)
        ),
        steps=(
            Step(
                1,
                "ports#1",
                "call",
                "ports#1: get",
                CallRecord("get", "ConfigMap/v1", "default", "c", cached=True),
                "200",
                reads=(Read(C, 3, 4, hash_of(OLD)),),
            ),
            Step(
                2,
                "ports#1",
                "call",
                "ports#1: patch",
                CallRecord("patch", "ConfigMap/v1", "default", "c"),
                "200",
                writes=(Write(C, 4, hash_of(OLD), hash_of(NEW), (FieldChange("data.next", "8000", "8001"),), 3, 1),),
                delivered=(Delivered("ports#2", C, 4, hash_of(NEW)),),
                line=line,
            ),
        ),
        schedule=(["start", 0, ["default", "c"], 0],),
        actors=(Actor("ports#1", "instance"),),
        objects={hash_of(OLD): OLD, hash_of(NEW): NEW},
        initial={C: hash_of(OLD)},
    )


def test_a_document_is_read_back_as_it_was_written() -> None:
    assert Document.load(document().dump()) == document()


def test_equal_documents_have_equal_bytes() -> None:
    assert document().dump() == document().dump()


def test_fields_of_later_versions_are_ignored() -> None:
    assert Document.from_json({**document().to_json(), "more": 1}) == document()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 1}, "format: expected 2, found 1: written by another version of kontend"),
        ({"steps": None}, "steps: expected a list, found None"),
        ({"steps": [{"number": 1}]}, "steps[0].actor: missing"),
        ({"source": {"file": 7, "scenario": "s"}}, "source.file: expected text, found 7"),
        ({"objects": {}}, f"initial.{C}: objects has no {hash_of(OLD)}"),
        ({"violation": {"property": "p", "sentence": "s", "culprits": [9]}}, "violation: there is no step 9"),
    ],
)
def test_a_wrong_document_is_refused_with_the_field(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadDocument) as caught:
        Document.from_json({**document().to_json(), **change})
    assert str(caught.value) == message


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(BadDocument, match="not JSON"):
        Document.load(b"nothing")
