"""Conversion of custom resources by webhooks.

Objects are stored at one version and served at all of them; where a definition says so, a webhook converts between
them. Conversions are needed deep inside of reads and writes, so the request under way keeps its
:class:`Conversions` in a context variable. One that is not known yet is noted and answered with a stand-in, so that a
list finds all of its conversions in one pass; then the request is suspended (:mod:`kontend.cluster.effects`), all
objects are converted with one call, and the request runs again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kontend.cluster.effects import Answer, Answers, Function, WebhookCall, call_key, call_uid
from kontend.cluster.effects.webhook_client import webhook_call
from kontend.kube.crd.custom_resource import CustomDefinition
from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import ApiError

Json = dict[str, Any]
_TIMEOUT: Final = 30
#: Conversions that are remembered.
_MOST_KNOWN: Final = 20_000


@dataclass(frozen=True, slots=True)
class Converted:
    """The outcome of a conversion: the object as JSON, or an error."""

    body: bytes = b""
    error: str = ""


#: Outcomes by the identity of their questions.
Known = MutableMapping[bytes, Converted]


@dataclass(frozen=True, slots=True)
class _Question:
    custom: CustomDefinition
    api_version: str
    obj: Json


class Conversions:
    """The conversions of one request."""

    def __init__(self, known: Known, functions: Mapping[str, Function], *, wait: bool) -> None:
        """``functions`` are webhooks in this process. Without ``wait`` no others are called."""
        self._known = known
        self._functions = functions
        self._wait = wait
        self._needed: dict[bytes, _Question] = {}

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make these the conversions of what runs inside."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def convert(self, custom: CustomDefinition, obj: Json, api_version: str) -> Json:
        """Return an object at another version; its metadata stays, but for labels and annotations."""
        metadata = obj["metadata"]
        kept = ("managedFields", "resourceVersion")
        bare = {**obj, "metadata": {name: value for name, value in metadata.items() if name not in kept}}
        key = call_key("conversion", canonical(custom.conversion), api_version, canonical(bare))
        outcome = self._known.get(key)
        if outcome is None:
            question = _Question(custom, api_version, bare)
            call = _call([question])
            if self._wait and not self._has_function(call):
                self._needed[key] = question
                return {**obj, "apiVersion": api_version}
            answer = Answers({}, self._functions, wait=False).all([call])[0]
            learn(self._known, {key: question}, answer, call)
            outcome = self._known[key]
        if outcome.error:
            raise ApiError(f"conversion webhook for {_kind(obj)} failed: {outcome.error}", code=500)
        result: Json = orjson.loads(outcome.body)
        changed = result.get("metadata") or {}
        result["metadata"] = {name: value for name, value in metadata.items() if name not in ("labels", "annotations")}
        result["metadata"] |= {name: changed[name] for name in ("labels", "annotations") if changed.get(name)}
        return result

    def _has_function(self, call: WebhookCall) -> bool:
        return call.url in self._functions or call.url.replace(".svc:443", ".svc") in self._functions

    def learn(self, answers: Mapping[bytes, Answer]) -> None:
        """Take the answers to its calls into what is known."""
        for call, questions in self.calls():
            if call.key in answers:
                learn(self._known, questions, answers[call.key], call)
        self._needed.clear()

    def calls(self) -> list[tuple[WebhookCall, Mapping[bytes, _Question]]]:
        """Return the calls to make, each with the questions that it answers: one call for all objects of a kind."""
        groups: dict[tuple[bytes, str], dict[bytes, _Question]] = {}
        for key, question in self._needed.items():
            group = (canonical(question.custom.conversion), question.api_version)
            groups.setdefault(group, {})[key] = question
        return [(_call(list(questions.values())), questions) for questions in groups.values()]


def learn(known: Known, questions: Mapping[bytes, _Question], answer: Answer, call: WebhookCall) -> None:
    """Take the answer to a call into what is known."""
    if len(known) > _MOST_KNOWN:
        known.clear()
    problem, objects = _read(answer, call, questions)
    for index, key in enumerate(questions):
        known[key] = Converted(error=problem) if problem else Converted(canonical(objects[index]))


def convert(custom: CustomDefinition, obj: Json, api_version: str) -> Json:
    """Return an object at another version, converted by the webhook of its definition."""
    current = _current.get()
    if current is None:
        current = Conversions({}, {}, wait=False)
    return current.convert(custom, obj, api_version)


_current: Final[ContextVar[Conversions | None]] = ContextVar("kontend_conversions", default=None)


def _call(questions: list[_Question]) -> WebhookCall:
    custom = questions[0].custom
    objects = [question.obj for question in questions]
    key = call_key("conversions", canonical(custom.conversion), questions[0].api_version, canonical(objects))
    request = {"uid": call_uid(key), "desiredAPIVersion": questions[0].api_version, "objects": objects}
    review = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request}
    config = (custom.conversion.get("webhook") or {}).get("clientConfig") or {}
    return webhook_call(config, _TIMEOUT, canonical(review), key)


def _read(answer: Answer, call: WebhookCall, questions: Mapping[bytes, _Question]) -> tuple[str, list[Json]]:
    """Return the mistake in an answer, and the objects in it."""
    if answer.error:
        return answer.error, []
    response = answer.body.get("response") if isinstance(answer.body, dict) else None
    if not isinstance(response, dict):
        return "no response provided", []
    if response.get("uid") != call_uid(call.key):
        return f'expected response.uid="{call_uid(call.key)}", got "{response.get("uid") or ""}"', []
    result = response.get("result") or {}
    if result.get("status") != "Success":
        status = result.get("status") or ""
        return str(result.get("message") or f"response.result.status was '{status}', not 'Success'"), []
    objects = response.get("convertedObjects") or []
    if len(objects) != len(questions):
        return f"returned {len(objects)} objects, expected {len(questions)}", []
    for obj, question in zip(objects, questions.values(), strict=True):
        wanted = (question.api_version, question.obj.get("kind"))
        if not isinstance(obj, dict) or (obj.get("apiVersion"), obj.get("kind")) != wanted:
            actual = _kind(obj) if isinstance(obj, dict) else "no object"
            return f"invalid converted object: expected {wanted[0]}, Kind={wanted[1]}, found {actual}", []
        if ((obj.get("metadata") or {}).get("name")) != question.obj["metadata"].get("name"):
            return "invalid converted object: metadata.name was changed", []
    return "", objects


def _kind(obj: Mapping[str, Any]) -> str:
    return f"{obj.get('apiVersion', '')}, Kind={obj.get('kind', '')}"
