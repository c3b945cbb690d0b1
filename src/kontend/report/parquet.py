"""Traces as a Parquet file: a row for each step, for DuckDB, pandas and other tools that ask questions of many traces.

Reads, writes and deliveries are lists of structs; values of fields are JSON text, because they can be of any type.
Objects themselves are not in the file.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from kontend.report.archive import slug
from kontend.report.document import Document, Step

_FIELD = pa.struct([("path", pa.string()), ("before", pa.string()), ("after", pa.string())])
_READ = pa.struct([("object", pa.string()), ("version", pa.int64()), ("latest", pa.int64())])
_WRITE = pa.struct(
    [("object", pa.string()), ("version", pa.int64()), ("base", pa.int64()), ("fields", pa.list_(_FIELD))]
)
_DELIVERED = pa.struct([("cache", pa.string()), ("object", pa.string()), ("version", pa.int64())])
SCHEMA = pa.schema(
    [
        ("trace", pa.string()),
        ("property", pa.string()),
        ("sentence", pa.string()),
        ("scenario", pa.string()),
        ("step", pa.int64()),
        ("time", pa.float64()),
        ("actor", pa.string()),
        ("action", pa.string()),
        ("text", pa.string()),
        ("at_fault", pa.bool_()),
        ("perturbations", pa.int64()),
        ("verb", pa.string()),
        ("kind", pa.string()),
        ("namespace", pa.string()),
        ("name", pa.string()),
        ("subresource", pa.string()),
        ("cached", pa.bool_()),
        ("response", pa.string()),
        ("reads", pa.list_(_READ)),
        ("writes", pa.list_(_WRITE)),
        ("delivered", pa.list_(_DELIVERED)),
        ("file", pa.string()),
        ("line", pa.int64()),
    ]
)


def parquet(documents: Sequence[Document]) -> bytes:
    """Return the steps of documents as a Parquet file."""
    table = pa.Table.from_pylist(list(_rows(documents)), schema=SCHEMA)
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def _rows(documents: Sequence[Document]) -> Iterator[dict[str, Any]]:
    for document in documents:
        violation = document.violation
        common = {
            "trace": slug(document),
            "property": violation.property,
            "sentence": violation.sentence,
            "scenario": document.source.scenario or document.source.file,
        }
        for step in document.steps:
            yield {**common, **_row(step), "at_fault": step.number in violation.culprits}


def _row(step: Step) -> dict[str, Any]:
    call, line = step.call, step.line
    return {
        "step": step.number,
        "time": step.time,
        "actor": step.actor,
        "action": step.action,
        "text": step.text,
        "perturbations": step.cost,
        "verb": call.verb if call is not None else None,
        "kind": call.kind if call is not None else None,
        "namespace": call.namespace if call is not None else None,
        "name": call.name if call is not None else None,
        "subresource": call.subresource if call is not None else None,
        "cached": call.cached if call is not None else None,
        "response": step.response,
        "reads": [{"object": read.object, "version": read.version, "latest": read.latest} for read in step.reads],
        "writes": [
            {
                "object": write.object,
                "version": write.version,
                "base": write.base,
                "fields": [
                    {"path": change.path, "before": _json(change.before), "after": _json(change.after)}
                    for change in write.fields
                ],
            }
            for write in step.writes
        ],
        "delivered": [
            {"cache": event.cache, "object": event.object, "version": event.version} for event in step.delivered
        ],
        "file": line.file if line is not None else None,
        "line": line.line if line is not None else None,
    }


def _json(value: Any) -> str | None:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode() if value is not None else None
