"""Readiness of a process, as ``--ready`` defines it: a URL that answers, a line of output, or simply idleness."""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from kontend.live.process.process import Process

#: Seconds until an attempt is given up, and between two attempts.
_TIME: Final = 5.0
_AGAIN: Final = 0.02


class BadReady(Exception):
    """A condition that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A condition for the start of a process: a URL that answers with 200, or a pattern in its output."""

    url: str = ""
    pattern: re.Pattern[str] | None = None

    def __str__(self) -> str:
        return f"{self.url} answers with 200" if self.pattern is None else f"its output matches {self.pattern.pattern}"


def parse_ready(text: str) -> Ready:
    """Read the value of ``--ready``.

    >>> parse_ready("http://127.0.0.1:{port}/readyz").url, parse_ready("Starting workers").pattern.pattern
    ('http://127.0.0.1:{port}/readyz', 'Starting workers')
    """
    if text.startswith(("http://", "https://")):
        try:
            parts = urlsplit(re.sub(r"\{port\d*\}", "1", text))
            if parts.hostname and parts.port != 0:
                return Ready(url=text)
        except ValueError:
            pass
        raise BadReady(f"--ready {text}: expected a URL such as http://127.0.0.1:{{port}}/readyz")
    try:
        return Ready(pattern=re.compile(text))
    except re.error as error:
        raise BadReady(f"--ready {text}: neither a URL nor a regular expression: {error}") from None


class Readiness:
    """The condition for one process. Once it has held, it holds for as long as the process lives."""

    def __init__(self, ready: Ready | None, process: Process) -> None:
        self._pattern = ready.pattern if ready is not None else None
        self._output = process.output
        self._searched = -1
        self.holds = ready is None
        #: Asks the URL again and again, beside everything else.
        self._asking: asyncio.Task[None] | None = None
        if ready is not None and ready.url:
            url = process.ports.fill(ready.url)
            self._asking = asyncio.get_running_loop().create_task(self._ask(url))

    def check(self) -> bool:
        """Return whether the process is ready; this never waits."""
        if not self.holds and self._pattern is not None and self._searched != self._output.size:
            self._searched = self._output.size
            self.holds = self._pattern.search(self._output.text()) is not None
        return self.holds

    def stop(self) -> None:
        """Ask no more."""
        if self._asking is not None:
            self._asking.cancel()

    async def _ask(self, url: str) -> None:
        while not self.holds:
            with contextlib.suppress(OSError, ValueError, asyncio.TimeoutError, asyncio.IncompleteReadError):
                self.holds = await asyncio.wait_for(_answers(url), _TIME)
            if not self.holds:
                await asyncio.sleep(_AGAIN)


async def _answers(url: str) -> bool:
    """Return whether a GET of a URL is answered with 200. Certificates are not checked: the URL is the user's own."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    context = ssl._create_unverified_context() if secure else None
    port = parts.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=context)
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        request = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUser-Agent: kontend\r\nConnection: close\r\n\r\n"
        writer.write(request.encode())
        status = await reader.readline()
        return status.split()[1:2] == [b"200"]
    finally:
        writer.close()
