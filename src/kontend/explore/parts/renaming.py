"""Renamings: the names and uids of the objects of one part in place of those of another one, and the other way round.

A renaming exchanges whole words, wherever they stand. It is its own inverse, so that what differs still differs after
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import orjson

from kontend.cluster.reads import Reads
from kontend.cluster.state import Version
from kontend.explore.model.answer import Answer
from kontend.explore.model.state.process import MetVersion
from kontend.explore.model.step import Step
from kontend.explore.parts.footprint import Footprint, Listing
from kontend.explore.program.driven import Exchange, Start
from kontend.explore.program.identities import IDENTITIES
from kontend.explore.program.progress import Done, Progress
from kontend.explore.program.tree import RecordedRun
from kontend.kube.apply.managed_fields import ManagedFields, decode, encode_json
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call


class NotAlike(Exception):
    """Two parts differ in more than names."""


class Renaming:
    """Exchanges words and uids."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Exchange the words of each pair. Raises :class:`NotAlike` if a word is in two different pairs."""
        self._words: dict[bytes, bytes] = {}
        self._uids: dict[bytes, bytes] = {}
        self._pattern: re.Pattern[bytes] | None = None
        for one, other in sorted(pairs, key=lambda pair: len(pair[0])):
            if self.text(one) != other:
                self.exchange_words(one.encode(), other.encode())

    def exchange_words(self, one: bytes, other: bytes) -> None:
        """Exchange two words as well. Raises :class:`NotAlike` if one of them is exchanged for another."""
        self._add(self._words, one, other)
        words = b"|".join(re.escape(word) for word in sorted(self._words, key=len, reverse=True))
        self._pattern = re.compile(rb"(?<![0-9A-Za-z])(?:%s)(?![0-9A-Za-z])" % words)

    def exchange_uids(self, one: str, other: str) -> None:
        """Exchange two uids as well."""
        self._add(self._uids, one.encode(), other.encode())

    def data(self, data: bytes) -> bytes:
        """Bytes after the renaming."""
        if self._pattern is not None:
            data = self._pattern.sub(lambda match: self._words[match[0]], data)
        return IDENTITIES.sub(lambda match: self._uids.get(match[0], match[0]), data) if self._uids else data

    def text(self, text: str) -> str:
        """A text."""
        return self.data(text.encode()).decode()

    def key(self, key: Key) -> Key:
        """The key of an object."""
        return Key(self.text(key.namespace), self.text(key.name))

    def call(self, call: Call) -> Call:
        """A call."""
        return replace(
            call,
            namespace=self.text(call.namespace),
            name=self.text(call.name),
            body=self.data(call.body),
            query=self.query(call.query),
        )

    def query(self, query: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        """The parameters of a call."""
        return tuple((name, self.text(value)) for name, value in query)

    def managed(self, managed: ManagedFields) -> ManagedFields:
        """The managed fields of an object."""
        if not managed:
            return managed
        encoded = encode_json(managed)
        renamed = self.data(encoded)
        return managed if renamed == encoded else decode(orjson.loads(renamed))

    def version(self, version: Version) -> Version:
        """A version of an object."""
        return type(version)(self.data(version.body), self.managed(version.managed), version.resource_version)

    def step(self, step: Step) -> Step:
        """A step of a schedule."""
        return step._replace(subject=self.key(step.subject)) if isinstance(step.subject, Key) else step

    def met(self, met: MetVersion, number: int) -> MetVersion:
        """A version that a run has met, with its number in the other part."""
        return met[0], self.key(met[1]), number

    def run(self, run: RecordedRun) -> RecordedRun:
        """A run of a reconcile."""
        exchanges = [Exchange(self.call(call), at, self.data(response)) for call, at, response in run.exchanges]
        return RecordedRun(self.start(run.start), exchanges, self.progress(run.progress))

    def start(self, start: Start) -> Start:
        """The start of a run."""
        return Start(self.key(start.request), self.data(start.memory), start.now, start.uuids_from)

    def progress(self, progress: Progress) -> Progress:
        """The progress of a run."""
        done = progress.done
        return progress._replace(
            calls=tuple(map(self.call, progress.calls)),
            done=None if done is None else self._done(done),
        )

    def _done(self, done: Done) -> Done:
        failure = done.failure and replace(done.failure, message=self.text(done.failure.message))
        return replace(done, failure=failure, memory=self.data(done.memory))

    def answer(self, answer: Answer) -> Answer:
        """The answer to a call."""
        refusal = answer.refusal
        if refusal is None:
            return answer
        return replace(answer, refusal=refusal._replace(message=self.text(refusal.message)))

    def listing(self, listing: Listing) -> Listing:
        """A list that a part makes."""
        return Listing(listing.resource, self.text(listing.namespace), self.query(listing.query))

    def named(self, footprint: Footprint) -> frozenset[tuple[str, Key]]:
        """The objects that a part asks for by name."""
        return frozenset((resource, self.key(key)) for resource, key in footprint.named)

    def reads(self, reads: Reads) -> Reads:
        """The reads of the server for a part."""
        return Reads({(resource, self.key(key)) for resource, key in reads.objects}, set(reads.resources))

    @staticmethod
    def _add(known: dict[bytes, bytes], one: bytes, other: bytes) -> None:
        if known.setdefault(one, other) != other or known.setdefault(other, one) != one:
            raise NotAlike
