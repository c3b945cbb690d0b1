"""Effects: the outside calls that a request needs before it can be answered.

A webhook is called by the shell, never by the API server itself, which stays a function. When the server needs an
answer that it does not have, it gives up with :class:`Suspended`: the calls to make, as plain data. The shell makes
them while other requests go on, and runs the request again from its start, on the state of then, with the answers so
far (:class:`Progress`). A call is identified by its content, so an answer is used exactly as long as the question is
the same: when another write has changed the object meanwhile, the webhook is asked again, as kube-apiserver does when
it retries. Time stands still for a suspended request and uids are reserved for it, so that its questions do not change
by themselves.

A request can also wait for an object that a controller is about to make (:class:`Expected`). It is handled again when
the object is there, or when the time is up.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import xxhash

from kontend.kube.meta.names import Key

#: Uids and names that a suspended request may generate.
RESERVED: Final = 64
#: The number of times that a request may be suspended before it is refused.
MOST_ROUNDS: Final = 100


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """One POST to a webhook."""

    #: The address to which kube-apiserver would send it: of a service, ``https://NAME.NAMESPACE.svc:PORT/PATH``.
    url: str
    #: ``NAMESPACE/NAME:PORT`` when it is a service.
    service: str
    #: Authorities to trust, base64 of PEM; the usual ones if empty.
    ca_bundle: str
    timeout: int
    #: The review, as canonical JSON.
    body: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a call: its body as JSON, or the reason why there is none."""

    body: Any = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """An object that a controller is about to make."""

    #: The resource, as the state names it.
    resource: str
    name: Key
    #: Seconds after which a request goes on without it.
    patience: float

    @property
    def key(self) -> bytes:
        """Identifies the wait among the answers of a request."""
        return call_key("expected", self.resource, self.name.namespace, self.name.name)


@dataclass(frozen=True, slots=True)
class Progress:
    """A suspended request: when it began, the first uid that is its own, and the answers so far."""

    now: int
    serial: int
    answers: Mapping[bytes, Answer] = field(default_factory=dict)
    rounds: int = 0

    def answered(self, answers: Mapping[bytes, Answer]) -> Progress:
        """Return the progress with more answers."""
        return Progress(self.now, self.serial, {**self.answers, **answers}, self.rounds + 1)


#: A webhook in this process: from a review to the review with its response.
Function = Callable[[dict[str, Any]], Any]


class Answers:
    """The source of answers to calls: earlier calls, functions in this process, or the shell."""

    def __init__(self, known: Mapping[bytes, Answer], functions: Mapping[str, Function], *, wait: bool) -> None:
        """``functions`` are webhooks by URL. Without ``wait`` there is no shell that calls others."""
        self._known = known
        self._functions = functions
        self._wait = wait

    def all(self, calls: Sequence[WebhookCall]) -> list[Answer]:
        """Return the answers to some calls. Raises :class:`Suspended` for those that the shell must make."""
        answers = {call.key: self._answer(call) for call in calls}
        missing = [call for call in calls if answers[call.key] is None]
        if missing:
            raise Suspended(missing)
        return [answer for call in calls if (answer := answers[call.key]) is not None]

    def expect(self, expected: Expected) -> None:
        """Lets the request wait for an object, once. Raises :class:`Suspended` where a shell can wait for it."""
        if self._wait and expected.key not in self._known:
            raise Suspended((), expected=expected)

    def _answer(self, call: WebhookCall) -> Answer | None:
        answer = self._known.get(call.key)
        if answer is not None:
            return answer
        function = self._functions.get(call.url) or self._functions.get(call.url.replace(".svc:443", ".svc"))
        if function is not None:
            try:
                return Answer(function(orjson.loads(call.body)))
            except Exception as error:
                return Answer(error=f'Post "{call.url}?timeout={call.timeout}s": {type(error).__name__}: {error}')
        if self._wait:
            return None
        why = "no function for it in Cluster(webhooks={URL: function})"
        return Answer(error=f'Post "{call.url}?timeout={call.timeout}s": {why}')


class Suspended(Exception):
    """Raised where answers are missing, or an object that should be there soon."""

    def __init__(self, calls: Iterable[WebhookCall], about: Any = None, *, expected: Expected | None = None) -> None:
        super().__init__("the request has to wait")
        self._calls = tuple(calls)
        self._about = about
        self._expected = expected

    def with_progress(self, progress: Progress) -> Suspension:
        """Return the response of a request that has come this far."""
        return Suspension(self._calls, progress, self._about, self._expected)


class Waiting(Exception):
    """Raised by a cluster inside a server, which cannot wait itself: the response comes later."""

    def __init__(self, response: Awaitable[Any]) -> None:
        super().__init__("the request waits for webhooks or for an object")
        self.response = response
        #: The states before and after the request, when the response has come.
        self.states: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspension:
    """The response to a request that cannot be answered yet."""

    calls: tuple[WebhookCall, ...]
    progress: Progress
    #: The conversions that the calls are for, if they are for conversions.
    about: Any = None
    #: The object to wait for.
    expected: Expected | None = None

    def answered(self, answers: Mapping[bytes, Answer]) -> Progress:
        """Return the progress with the answers to the calls; the request waits for the object no more."""
        waited = {} if self.expected is None else {self.expected.key: Answer()}
        return self.progress.answered({**answers, **waited})


def call_key(*parts: bytes | str) -> bytes:
    """Return the identity of a call."""
    digest = xxhash.xxh3_128()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.digest()


def call_uid(key: bytes) -> str:
    """Return the uid of the review of a call.

    >>> call_uid(bytes(16))
    '00000000-0000-4000-8000-000000000000'
    """
    text = key.hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:32]}"
