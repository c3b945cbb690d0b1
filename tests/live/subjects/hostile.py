"""Processes that misbehave, one way for each argument."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
from collections.abc import Callable
from pathlib import Path

from plain import GROUP, Client, main, watch  # type: ignore[import-not-found,unused-ignore]


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


def apart() -> None:
    """Work in a child in a process group of its own, beside one with a session of its own and no environment."""
    sleep = [sys.executable, "-c", "import time; time.sleep(600)", os.environ["KONTEND_TEST_TOKEN"]]
    subprocess.Popen(sleep, start_new_session=True, env={})
    worker = os.fork()
    if worker == 0:
        os.setpgid(0, 0)
        main()
    os.waitpid(worker, 0)


def exit_at_first_restart() -> None:
    """Work, but for the first start in all runs at which there is a Widget already."""
    exited = Path(os.environ["EXITED"])
    if not exited.exists() and Client()("GET", f"{GROUP}/widgets")["items"]:
        exited.touch()
        sys.exit("no luck")
    main()


def lock_for_life() -> None:
    """Work once it has a lock that nobody gives back, as long as its holder is there."""
    path, holder = "/api/v1/namespaces/default/configmaps", Path(os.environ["KUBECONFIG"]).name
    lock = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "lock"}, "data": {"holder": holder}}
    while True:
        try:
            Client()("POST", path, lock)
        except urllib.error.HTTPError:
            time.sleep(0.1)
        if Client()("GET", f"{path}/lock")["data"]["holder"] == holder:
            break
        if os.environ["ENDS"]:
            sys.exit("somebody else has the lock")
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


def refused() -> None:
    """Make an object once, then repeat a write that is refused."""
    client = Client()
    path = "/api/v1/namespaces/default/configmaps"
    stale = client("POST", path, {"metadata": {"name": "c"}, "data": {"n": "0"}})
    client("PATCH", f"{path}/c", {"data": {"n": "1"}}, "application/merge-patch+json")
    while True:
        try:
            client("PUT", f"{path}/c", stale)
        except urllib.error.HTTPError:
            time.sleep(0.01)


def poll() -> None:
    """Discover, list and read again and again, as a shell loop does, and write once."""
    client = Client()
    while True:
        client("GET", "/api")
        for listed in client("GET", f"{GROUP}/widgets")["items"]:
            path = f"{GROUP}/namespaces/default/widgets/{listed['metadata']['name']}"
            widget = client("GET", path)
            if "status" not in widget:
                time.sleep(float(sys.argv[2]))
                client("PUT", f"{path}/status", {**widget, "status": {"seen": True}})
        time.sleep(0.03)


def spin() -> None:
    """Work, and burn processor time without a request."""
    threading.Thread(target=main, daemon=True).start()
    while True:
        pass


def background() -> None:
    """Go on in the background, like a daemon."""
    if os.fork() == 0:
        os.setsid()
        main()


def late() -> None:
    """Work, and write a while after that, when nobody waits for it any more."""
    client = Client()
    path = "/api/v1/namespaces/default/configmaps"

    def later() -> None:
        client("POST", path, {"metadata": {"name": "late"}})

    threading.Timer(1.5, later).start()
    main()


def racy() -> None:
    """Decide otherwise in each run."""
    client = Client()
    last = Path(os.environ["LAST"])
    phase = "Pending" if last.exists() else "Ready"
    last.unlink() if last.exists() else last.touch()
    client("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}, "data": {"phase": phase}})
    main()


def ready() -> None:
    """Work, with a listener that hangs up on the first request, refuses the second, and answers the third."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", int(sys.argv[2])))
    listener.listen()
    threading.Thread(target=main, daemon=True).start()
    for answer in ("", "503 Unavailable", "200 OK"):
        connection, _ = listener.accept()
        connection.recv(4096)
        if answer:
            connection.sendall(f"HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n".encode())
        connection.close()
    sys.stderr.write("answered three times\n")
    while True:
        signal.pause()


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


def give_up_after_two() -> None:
    """Make two objects for each Widget, and give up when two writes have failed."""
    client = Client()
    failures = 0
    path = "/api/v1/namespaces/default"
    changed: queue.Queue[str] = queue.Queue()
    threading.Thread(target=watch, args=(client, f"{GROUP}/widgets", {}, changed), daemon=True).start()
    name = changed.get()
    for kind in ("configmaps", "secrets"):
        while failures < 2:
            try:
                client("POST", f"{path}/{kind}", {"metadata": {"name": name}})
                break
            except urllib.error.HTTPError:
                failures += 1
    while True:
        signal.pause()


def need_a_lock() -> None:
    """Work when an object could be created that is a lock, and end with an error when it could not."""
    try:
        Client()("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "lock"}})
    except urllib.error.HTTPError as error:
        if error.code != 409:  # it has the lock from before
            sys.exit(f"no lock: {error}")
    main()


WAYS: dict[str, Callable[[], None]] = {
    "exit": exit_at_once,
    "sigterm": ignore_sigterm,
    "fork": fork,
    "apart": apart,
    "restart": exit_at_first_restart,
    "flood": flood,
    "write": write_for_ever,
    "refused": refused,
    "poll": poll,
    "elsewhere": elsewhere,
    "spin": spin,
    "background": background,
    "late": late,
    "racy": racy,
    "ready": ready,
    "bind": bind,
    "lock": need_a_lock,
    "lock for life": lock_for_life,
    "twice": give_up_after_two,
}

if __name__ == "__main__":
    WAYS[sys.argv[1]]()
