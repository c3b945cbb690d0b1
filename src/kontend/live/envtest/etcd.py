"""An etcd that only says that it is healthy: the stand-in for kube-apiserver keeps its state itself.

It is run as a file, without the rest of the package and without site-packages, on nothing but sockets, so that it
starts at once: envtest waits for it before it starts kube-apiserver. It ends with the process that started it, because
not every suite stops what it has started.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\nConnection: close\r\n\r\n"
    b'{"health":"true"}'
)
#: Seconds after which a client that sends nothing is hung up on, and the most that is read of a request.
_TIME = 1.0
_MOST = 65536
#: Seconds between two looks at the process that started it.
_LOOK = 1.0


def address(arguments: list[str]) -> tuple[str, int]:
    """Return the address to listen on.

    >>> address(["--data-dir=/tmp", "--listen-client-urls=http://127.0.0.1:2379"])
    ('127.0.0.1', 2379)
    >>> address(["--listen-client-urls", "http://[::1]:2379,http://127.0.0.1:2379"])
    ('::1', 2379)
    """
    name = "--listen-client-urls"
    for index, argument in enumerate(arguments):
        if argument == name and index + 1 < len(arguments):
            argument = f"{name}={arguments[index + 1]}"
        if argument.startswith(f"{name}="):
            authority = argument.partition("=")[2].partition(",")[0].partition("://")[2].partition("/")[0]
            host, _, port = authority.rpartition(":")
            if host and port.isdecimal():
                return host.strip("[]"), int(port)
    raise SystemExit("kontend etcd: --listen-client-urls: expected a URL with a port")


def answer(connection: socket.socket) -> None:
    """Answer one request as a healthy etcd answers a health check, whatever it asks."""
    connection.settimeout(_TIME)
    request = b""
    try:
        while b"\r\n\r\n" not in request and len(request) < _MOST:
            part = connection.recv(4096)
            if not part:
                return
            request += part
        connection.sendall(_ANSWER)
    except OSError:
        pass  # the client has gone


def main(arguments: list[str]) -> None:
    """Answer requests, until SIGTERM or the end of the parent."""
    parent = int(os.environ.get("KONTEND_PARENT") or os.getppid())
    host, port = address(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise SystemExit(f"kontend etcd: {host}:{port}: {error.strerror}") from None
        listener.listen()
        listener.settimeout(_LOOK)
        while os.getppid() == parent:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                answer(connection)


if __name__ == "__main__":
    main(sys.argv[1:])
