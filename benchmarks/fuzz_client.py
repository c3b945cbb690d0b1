"""The client of a fuzzer: sends requests to ``kontend serve``, judges the answers and counts them."""

from __future__ import annotations

import http.client
import json
import random
import re
import socket
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

#: Answers of 5xx that kube-apiserver 1.35 gives to the same requests, as whole messages, and why it does.
KNOWN_5XX: Final = {
    re.compile(pattern, re.DOTALL): reason
    for pattern, reason in (
        (
            r"500 (?:target\.(?:kind|name): [^\[\]]*|\[target\.kind: .*, target\.name: Required value\])",
            "the faults of a Binding are joined, not made into an Invalid",
        ),
        (
            r"500 resourceVersion should not be set on objects to be created",
            "an error of storage has no status of its own",
        ),
        (
            r'500 resourceVersion: Invalid value: ".*": strconv\.ParseUint: parsing ".*": .*',
            "a watch does not wrap the error of parsing, where a list does",
        ),
        (
            r"504 Timeout: Too large resource version: \d+, current: \d+",
            "a read from a version that does not come in time",
        ),
        (r"500 content is not a list", "PartialObjectMetadataList was asked of one object"),
        (
            r"500 failed to create typed (?:patch|live|new) object \(.*\): .*",
            "apply wraps what its typed values say with fmt.Errorf",
        ),
        (
            r"500 unknown patch type: .* in map: .*",
            "a strategic merge patch with a $patch that does not exist",
        ),
    )
}


@dataclass
class Outcome:
    """Answers and problems of a run."""

    codes: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    health: float = 0.0
    checks: int = 0

    def problem(self, text: str) -> None:
        """Note what should not have happened."""
        if len(self.problems) < 20:
            self.problems.append(text[:500])


class Client:
    """Sends requests and judges their answers."""

    def __init__(self, url: str, rng: random.Random) -> None:
        host = urlsplit(url)
        self.host, self.port = host.hostname or "", host.port or 80
        self.rng = rng
        self.outcome = Outcome()
        self.connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        self.version = ""

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        """Send a request and judge its answer."""
        sent = {"Content-Type": "application/json"} | {key.replace("_", "-"): value for key, value in headers.items()}
        started = time.monotonic()
        try:
            self.connection.request(method, path, body, sent)
            response = self.connection.getresponse()
            code, raw = response.status, response.read()
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.connection.close()
            if not isinstance(error, ValueError):
                self.outcome.problem(f"{method} {path[:100]}: {error!r}")
            return 0, b""
        took = time.monotonic() - started
        label = f"{method} {path[:80]} ({len(body)} bytes)"
        self.outcome.slowest = max(self.outcome.slowest, (took, label))
        self.outcome.codes[code] += 1
        if code >= 500 and not _is_known(code, raw):
            self.outcome.problem(f"{code} for {label} {body[:150]!r}: {raw[:300]!r}")
        if method != "GET" and code >= 400 and self.rng.random() < 0.2:
            self.check_unchanged(label)
        elif method != "GET":
            self.version = ""
        return code, raw

    def check_unchanged(self, label: str) -> None:
        """See that a refused request has not made a version."""
        before = self.version
        self.connection.request("GET", "/api/v1/namespaces?limit=1")
        raw = self.connection.getresponse().read()
        self.version = json.loads(raw)["metadata"]["resourceVersion"]
        if before and before != self.version:
            self.outcome.problem(f"refused, but the state has changed from {before} to {self.version}: {label}")

    def send_raw(self, sent: bytes) -> None:
        """Send bytes on a connection of their own, and judge whatever comes back."""
        started = time.monotonic()
        try:
            with socket.create_connection((self.host, self.port), timeout=5) as connection:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                received = b""
                while part := connection.recv(65536):
                    received += part
        except TimeoutError:
            self.outcome.problem(f"no answer to {sent[:200]!r}")
            return
        except OSError:
            return
        for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", received):
            self.outcome.codes[int(code)] += 1
            if int(code) >= 500 and int(code) != 505:
                self.outcome.problem(f"{int(code)} for {sent[:200]!r}")
        self.outcome.slowest = max(self.outcome.slowest, (time.monotonic() - started, f"raw {sent[:60]!r}"))


def _is_known(code: int, raw: bytes) -> bool:
    """Return whether kube-apiserver gives the same answer of 5xx."""
    try:
        message = str(json.loads(raw).get("message"))
    except ValueError:  # a page that is no JSON, such as that of a panic
        return False
    return any(pattern.fullmatch(f"{code} {message}") for pattern in KNOWN_5XX)
