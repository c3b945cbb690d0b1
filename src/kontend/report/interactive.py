"""Serves the interactive page on the loopback interface: the page, and the state after the steps that a reader took.

Any page in a browser on this machine can reach a server on the loopback interface. So the path has a random token that
such a page cannot know, requests for another host (DNS rebinding) or from another origin are refused, and states are
only given to a POST with a JSON body, which a foreign page cannot send without being asked for its origin first.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import orjson

#: Returns the state of a scenario after the choices of a reader, as JSON. Raises :class:`BadPath`.
StateAt = Callable[[str, Sequence[int]], Mapping[str, Any]]

_LONGEST_BODY: Final = 1 << 16
#: Seconds after which an idle connection is closed: browsers open some that they never use.
_IDLE: Final = 30
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class BadPath(ValueError):
    """Choices that cannot be made; the message says why."""


class InteractiveServer:
    """A server of one page. It listens when it is made, and answers between :meth:`run` and :meth:`close`."""

    def __init__(self, page: str, state_at: StateAt, *, port: int = 0) -> None:
        self.page = page.encode()
        self._state_at = state_at
        #: User code runs in one reconcile at a time.
        self._lock = threading.Lock()
        self.token = secrets.token_urlsafe(24)
        self._http = _Http(self, port)

    @property
    def authority(self) -> str:
        """The host and the port of the server."""
        return f"127.0.0.1:{self._http.server_address[1]}"

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{self.authority}/{self.token}/"

    def run(self) -> None:
        """Answer until :meth:`close` is called from another thread."""
        self._http.serve_forever(poll_interval=0.1)

    def close(self) -> None:
        """Stop answering and listening; for another thread than the one in :meth:`run`."""
        self._http.shutdown()
        self._http.server_close()

    def state(self, body: bytes) -> tuple[int, Mapping[str, Any]]:
        """Return the status and the answer to a question for a state."""
        try:
            question = orjson.loads(body)
            scenario, path = question["scenario"], question["path"]
            if not isinstance(scenario, str) or not all(type(number) is int and number >= 0 for number in path):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            return 400, {"error": 'expected {"scenario": NAME, "path": [NUMBER, ...]}'}
        try:
            with self._lock:
                return 200, self._state_at(scenario, path)
        except BadPath as error:
            return 400, {"error": str(error)}
        except Exception as error:  # user code may raise anything; the page shows it
            return 500, {"error": f"{type(error).__name__}: {error}"}


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, owner: InteractiveServer, port: int) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", port), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"
    timeout = _IDLE
    server_version = "kontend"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with the page."""
        if self._is_allowed("/"):
            self._answer(200, "text/html; charset=utf-8", self.server.owner.page)

    def do_POST(self) -> None:
        """Answer with a state."""
        if not self._is_allowed("/state"):
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _LONGEST_BODY:
            self._refuse(413, f"expected a body of at most {_LONGEST_BODY} bytes")
        elif self.headers.get_content_type() != "application/json":
            self.rfile.read(int(length))
            self._refuse(415, "expected application/json")
        else:
            status, answer = self.server.owner.state(self.rfile.read(int(length)))
            self._answer(status, "application/json", orjson.dumps(answer))

    def _is_allowed(self, path: str) -> bool:
        owner = self.server.owner
        names = (owner.authority, owner.authority.replace("127.0.0.1", "localhost"))
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if host not in names or (origin is not None and origin not in [f"http://{name}" for name in names]):
            self._refuse(403, "this server only answers its own page")
        elif not hmac.compare_digest(self.path.encode(), f"/{owner.token}{path}".encode()):
            self._refuse(404, "not found; open the address that kontend explore has printed")
        else:
            return True
        return False

    def _refuse(self, status: int, message: str) -> None:
        self.close_connection = True
        self._answer(status, "text/plain; charset=utf-8", f"{message}\n".encode())

    def _answer(self, status: int, media_type: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": media_type, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the address has the token in it."""
