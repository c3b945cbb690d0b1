"""Readiness of a process, as ``--ready`` defines it: a URL that answers, a line of output, or simply idleness."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Final

from kontend.live.process.process import Output

_TIME: Final = 0.5


class BadReady(Exception):
    """A condition that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A condition for the start of a process: a URL that answers with 200, or a pattern in its output."""

    url: str = ""
    pattern: re.Pattern[str] | None = None


def parse_ready(text: str) -> Ready:
    """Read the value of ``--ready``.

    >>> parse_ready("http://127.0.0.1:8081/readyz").url, parse_ready("Starting workers").pattern.pattern
    ('http://127.0.0.1:8081/readyz', 'Starting workers')
    """
    if text.startswith(("http://", "https://")):
        return Ready(url=text)
    try:
        return Ready(pattern=re.compile(text))
    except re.error as error:
        raise BadReady(f"--ready {text}: neither a URL nor a regular expression: {error}") from None


def is_ready(ready: Ready | None, output: Output) -> bool:
    """Return whether a process with this output is ready."""
    if ready is None:
        return True
    if ready.pattern is not None:
        return ready.pattern.search(output.text()) is not None
    try:
        with urllib.request.urlopen(ready.url, timeout=_TIME) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
