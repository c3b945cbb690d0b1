"""An etcd that only says that it is healthy: the stand-in for kube-apiserver keeps its state itself.

It is run as a file, without the rest of the package, so that it starts at once.
"""

from __future__ import annotations

import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Health(BaseHTTPRequestHandler):
    """Answers every request as a healthy etcd answers a health check."""

    def do_GET(self) -> None:
        """Answer."""
        body = b'{"health":"true"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


def address(arguments: list[str]) -> tuple[str, int]:
    """Return the address to listen on.

    >>> address(["--data-dir=/tmp", "--listen-client-urls=http://127.0.0.1:2379"])
    ('127.0.0.1', 2379)
    """
    name = "--listen-client-urls"
    for index, each in enumerate(arguments):
        if each == name and index + 1 < len(arguments):
            each = f"{name}={arguments[index + 1]}"
        if each.startswith(f"{name}="):
            parts = urlsplit(each.partition("=")[2].partition(",")[0])
            if parts.hostname and parts.port:
                return parts.hostname, parts.port
    raise SystemExit("kontend etcd: --listen-client-urls: expected a URL with a port")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with ThreadingHTTPServer(address(sys.argv[1:]), Health) as server:
        server.serve_forever()
