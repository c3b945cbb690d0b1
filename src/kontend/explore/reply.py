"""What a server did with a call, in a form that does not depend on resourceVersions.

The same call on the same objects has the same outcome, whatever the versions are; so it is worked out once, and carried
out again in every other world that has these objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
import xxhash

from kontend.cluster.resources import Resource
from kontend.cluster.state import Change, State
from kontend.cluster.wire.response import ApiResponse
from kontend.explore.behaviour import unbind, version_token
from kontend.explore.world import Flight, Met
from kontend.kube.meta.names import Key


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of a call."""

    #: What stands for the answer, and the answer itself, with tokens for versions.
    key: Any
    answer: bytes
    #: The versions that the conversation meets with this answer, in order.
    seen: tuple[Met, ...]
    #: What it wrote.
    writes: tuple[Change, ...]
    #: What to add to the text of the move.
    text: str

    def carried_out(self, state: State) -> State:
        """The state after the writes."""
        for change in self.writes:
            if change.new is None:
                state = state.remove(change.resource, change.key)
            else:
                new = change.new
                state, _ = state.write(change.resource, change.key, new.body, new.managed, settled=new.settled)
        return state

    def met_after(self, met: tuple[Met, ...], after: State) -> tuple[Met, ...]:
        """The versions that the conversation has met, as they are called in this world."""
        for resource, key, _ in self.seen:
            version = after.find(resource, key)
            met, _ = meet(met, (resource, key, version.resource_version if version else after.resource_version))
        return met


def reply_of(flight: Flight, resource: Resource, response: ApiResponse, writes: list[Change]) -> Reply:
    """The outcome that a response tells."""
    body: Any = response.body
    met = flight.met
    if response.code >= 400:
        text = unbind(orjson.dumps(body), flight.uuids) if isinstance(body, dict) else b"{}"
        reason = body.get("reason", "") if isinstance(body, dict) else ""
        return Reply(("!", text), b"!" + text, (), (), f": {response.code} {reason}")
    seen: list[Met] = []
    if body.get("kind") != "Status":
        items = body.get("items", [body])
        for item in items:
            metadata = item.get("metadata") or {}
            if not metadata.get("resourceVersion"):
                continue
            one = (resource.key, Key(metadata.get("namespace", ""), metadata["name"]), int(metadata["resourceVersion"]))
            met, token = meet(met, one)
            seen.append(one)
            metadata["resourceVersion"] = version_token(token)
        if "items" in body:
            body["metadata"]["resourceVersion"] = ""
    data = unbind(b"=" + orjson.dumps(body, option=orjson.OPT_SORT_KEYS), flight.uuids)
    return Reply(xxhash.xxh3_128_digest(data), data, tuple(seen), tuple(writes), "")


def meet(met: tuple[Met, ...], one: Met) -> tuple[tuple[Met, ...], int]:
    """The number of a version in a conversation; a new one is added."""
    for index, other in enumerate(met):
        if other == one:
            return met, index
    return (*met, one), len(met)
