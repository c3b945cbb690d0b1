"""Makes recorded runs again with other uids, uuids, resourceVersions and generated names, and compares them.

A run does the same if it makes the same calls, but for the identities. Texts may be made from them: a name that ends
with the first digits of a uid, a label with a hash. Such a text differs too, and is taken for another word of the same
meaning if nothing that the run has seen has it: a run that picks another object instead writes a name that it has read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import orjson

from kontend.explore.parts.renaming import NotAlike, Renaming
from kontend.explore.program.driven import Strayed, generated_by
from kontend.explore.program.event_loop import Unsupported
from kontend.explore.program.identities import FIRST_VERSION, IDENTITIES, VERSIONS
from kontend.explore.program.progress import Progress
from kontend.explore.program.symbols import is_token
from kontend.explore.program.tree import Program, RecordedRun
from kontend.runtime.client.call import Call
from kontend.runtime.controller import BadController

_WORDS: Final = re.compile(rb"[0-9A-Za-z]+")
#: The fewest characters of a text that is made from a uid: a digit is a decision.
_SHORTEST: Final = 4
#: The fewest values of a text that is made from a uid, in as many runs with other uids.
_VALUES: Final = 3
#: The distance between two resourceVersions that follow each other, in runs that are made again.
_APART: Final = 3


class Derived:
    """Words that code makes from identities: what became of each with other ones."""

    def __init__(self, values: dict[bytes, list[bytes]] | None = None) -> None:
        self._values = {} if values is None else values
        #: The words of this choice of identities.
        self.words: dict[bytes, bytes] = {}

    def again(self) -> Derived:
        """The same for another choice of identities."""
        return Derived(self._values)

    def learn(self, old: bytes, new: bytes, seen: Collection[bytes]) -> bool:
        """Note that a word has become another one; False where it cannot be made from an identity.

        ``seen`` are the words that the run has seen, with the other identities.
        """
        if min(len(old), len(new)) < _SHORTEST or new in seen or self.words.setdefault(old, new) != new:
            return False
        self._values.setdefault(old, []).append(new)
        return True

    def are_made_from_uids(self) -> bool:
        """Every word has become another one each time."""
        return all(len(set(values)) == len(values) >= _VALUES for values in self._values.values())


class Otherwise:
    """Other identities, and the words that are made from them as far as they are known."""

    def __init__(self, uids: Callable[[str], str], names: Mapping[str, str] | None = None, *, derived: Derived) -> None:
        self._uids = uids
        self._names = names
        self._derived = derived
        self._making: dict[int, list[RecordedRun]] = {}

    def making(self, program: Program) -> list[RecordedRun]:
        """The runs of a controller that have shown a word that is made from identities."""
        return self._making.get(program.number, [])

    @property
    def learned(self) -> int:
        """The number of words that are made from identities."""
        return len(self._derived.words)

    def makes(self, program: Program, run: RecordedRun) -> bool:
        """A controller makes the same run. Runs user code."""
        shown = b"\n".join([run.start.memory, *(response for _, _, response in run.exchanges)])
        uids = {match[0].decode() for match in IDENTITIES.finditer(shown)}
        uids |= set(generated_by(program.controller.name, run.start, run.progress.uuids))
        names = {name: other for name, other in (self._names or {}).items() if name.encode() in shown}
        if self._names is not None and not names:
            return True
        if not uids and not names and not VERSIONS.search(shown):
            return True
        try:
            renaming = _Renaming(sorted(names.items()))
            parts: dict[bytes, bytes] = {}
            for uid in sorted(uid for uid in uids if not is_token(uid)):
                other = self._uids(uid)
                renaming.exchange_uids(uid, other)
                parts.update(zip(uid.encode().split(b"-"), other.encode().split(b"-"), strict=True))
            for old, new in self._derived.words.items():
                renaming.exchange_words(old, new)
        except NotAlike:
            return True  # two of them would be exchanged for one
        try:
            before = self.learned
            text = b"\n".join([shown, str(run.start.request).encode(), *map(str.encode, uids)])
            is_made = self._is_made(program, run, _Compared(renaming, self._derived, text, parts))
            if self.learned > before:
                self._making.setdefault(program.number, []).append(run)
            return is_made
        except (Strayed, Unsupported, BadController, NotAlike):
            return False

    def _is_made(self, program: Program, run: RecordedRun, compared: _Compared) -> bool:
        renaming = compared.renaming
        driven = program.opened(renaming.start(run.start), renaming.text)
        try:
            for call, at, response in run.exchanges:
                calls = driven.progress().calls
                if at >= len(calls) or not compared.agree(_of_call(renaming.call(call)), _of_call(calls[at])):
                    return False
                driven.respond(at, _sorted(renaming.data(response)))
            return compared.agree(_of(renaming.progress(run.progress)), _of(driven.progress()))
        finally:
            driven.close()


class _Compared:
    """A run that is compared with one that was recorded."""

    def __init__(self, renaming: _Renaming, derived: Derived, shown: bytes, parts: Mapping[bytes, bytes]) -> None:
        """``shown`` is all that the run has seen, ``parts`` are those of uids."""
        self.renaming = renaming
        self._derived = derived
        self._shown = shown
        self._parts = parts

    def agree(self, expected: bytes, found: bytes) -> bool:
        """Two texts are the same, but for words that are made from identities; these are learned."""
        if expected == found:
            return True
        if _WORDS.sub(b"", expected) != _WORDS.sub(b"", found):
            return False
        pairs = zip(_WORDS.findall(expected), _WORDS.findall(found), strict=True)
        seen = {*_WORDS.findall(self._shown), *_WORDS.findall(self.renaming.data(self._shown))}
        for old, new in dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]):
            if not self._derived.learn(old, new, () if self._parts.get(old) == new else seen):
                return False
            self.renaming.exchange_words(old, new)
        return True


class _Renaming(Renaming):
    """A renaming that also moves resourceVersions."""

    def data(self, data: bytes) -> bytes:
        return VERSIONS.sub(_moved, super().data(data))


def _moved(match: re.Match[bytes]) -> bytes:
    return str(FIRST_VERSION + _APART * (int(match[0]) - FIRST_VERSION) + 1).encode()


def _of(progress: Progress) -> bytes:
    """The decisions of a run, as text."""
    done = progress.done
    if done is None:
        return b"\n\n".join(map(_of_call, progress.calls))
    failure = done.failure.type if done.failure is not None else ""
    return f"{done.again} {done.after} {failure} {progress.uuids}\n".encode() + done.memory


def _of_call(call: Call) -> bytes:
    head = (call.verb, call.kind, call.namespace, call.name, call.subresource, call.content_type, call.cached)
    return repr((*head, call.query)).encode() + b"\n" + call.body


def _sorted(response: bytes) -> bytes:
    """A list in the order of the names in it."""
    if response[:1] != b"=" or b'"items"' not in response:
        return response
    document: dict[str, Any] = orjson.loads(response[1:])
    items = document.get("items")
    if not isinstance(items, list):
        return response
    ordered = sorted(items, key=_key)
    if ordered == items:
        return response
    return b"=" + orjson.dumps({**document, "items": ordered}, option=orjson.OPT_SORT_KEYS)


def _key(obj: Mapping[str, Any]) -> tuple[str, str]:
    metadata = obj.get("metadata") or {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
