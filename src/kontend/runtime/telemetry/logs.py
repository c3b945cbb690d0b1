"""Structured logs: a message, and fields beside it.

The standard ``logging`` does the work; this module adds two formatters and a way to attach fields:

    logger.info("reconciled", extra=fields(controller="widgets", request="default/a"))
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

#: The logger of the runtime; its children are named after controllers.
LOGGER = logging.getLogger("kontend")


def fields(**values: Any) -> dict[str, Any]:
    """Return the ``extra`` argument of a log call that carries fields."""
    return {"fields": values}


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        entry = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "logger": record.name,
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(entry, default=str).decode()


class TextFormatter(logging.Formatter):
    """``time LEVEL message  field=value``; a traceback follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        values = " ".join(f"{name}={_quoted(value)}" for name, value in getattr(record, "fields", {}).items())
        line = f"{_time(record)} {record.levelname:<7} {record.getMessage()}"
        line = f"{line}  {values}" if values else line
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


FORMATS = {"json": JsonFormatter, "text": TextFormatter}


def configure(format: str = "text", *, level: int = logging.INFO, stream: TextIO | None = None) -> logging.Handler:
    """Log to ``stream`` (standard error unless given). Returns the handler, for the caller to remove."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(FORMATS[format]())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level)
    return handler


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _quoted(value: Any) -> str:
    text = str(value)
    return orjson.dumps(text).decode() if not text or any(char in text for char in ' "=\n') else text
