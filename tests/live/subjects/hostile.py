"""Processes that misbehave, one way for each argument."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable

from plain import GROUP, Client, main  # type: ignore[import-not-found,unused-ignore]


def exit_at_once() -> None:
    """End with an error."""
    sys.stderr.write("no license\n")
    sys.exit(7)


def ignore_sigterm() -> None:
    """Work, and do not listen to anybody."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()


def fork() -> None:
    """Work, with a child in the same group and one in a session of its own."""
    for apart in (False, True):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=apart)
    main()


def flood() -> None:
    """Write 100 MB of log, then work."""
    line = b"x" * 1023 + b"\n"
    for _ in range(100):
        os.write(1, line * 1024)
    main()


def write_for_ever() -> None:
    """Write again and again."""
    client = Client()
    path = "/api/v1/namespaces/default/configmaps"
    client("POST", path, {"metadata": {"name": "c"}, "data": {"n": "0"}})
    for number in range(10**9):
        client("PATCH", f"{path}/c", {"data": {"n": str(number)}}, "application/merge-patch+json")
        time.sleep(0.01)


def poll() -> None:
    """Read again and again, and write once."""
    client = Client()
    while True:
        for widget in client("GET", f"{GROUP}/widgets")["items"]:
            if "status" not in widget:
                name = widget["metadata"]["name"]
                path = f"{GROUP}/namespaces/default/widgets/{name}/status"
                client("PUT", path, {**widget, "status": {"seen": True}})
        time.sleep(0.03)


def elsewhere() -> None:
    """Talk to another server."""
    while True:
        with socket.socket() as other:
            other.connect_ex(("127.0.0.1", 9))
        time.sleep(0.05)


def bind() -> None:
    """Work, and listen on a fixed port."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", int(sys.argv[2])))
    listener.listen()
    main()


WAYS: dict[str, Callable[[], None]] = {
    "exit": exit_at_once,
    "sigterm": ignore_sigterm,
    "fork": fork,
    "flood": flood,
    "write": write_for_ever,
    "poll": poll,
    "elsewhere": elsewhere,
    "bind": bind,
}

if __name__ == "__main__":
    WAYS[sys.argv[1]]()
