"""Logs for people and for programs."""

from __future__ import annotations

import io
import json

import pytest

from kontend.runtime.telemetry.logs import LOGGER, configure, fields


def logged(format: str) -> str:
    stream = io.StringIO()
    handler = configure(format, stream=stream)
    try:
        try:
            raise ValueError("broken")
        except ValueError:
            LOGGER.exception("it %s", "failed", extra=fields(request="default/a", error='not "this"', empty=""))
    finally:
        LOGGER.removeHandler(handler)
    return stream.getvalue()


def test_json_logs_are_one_object_a_line_with_the_fields() -> None:
    (line,) = logged("json").splitlines()
    entry = json.loads(line)
    assert (entry["level"], entry["message"], entry["request"]) == ("error", "it failed", "default/a")
    assert "ValueError: broken" in entry["traceback"]
    assert entry["time"].endswith("Z")


def test_text_logs_quote_what_needs_it() -> None:
    first, *rest = logged("text").splitlines()
    assert first.endswith('ERROR   it failed  request=default/a error="not \\"this\\"" empty=""')
    assert rest[-1] == "ValueError: broken"


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(KeyError):
        configure("xml")
