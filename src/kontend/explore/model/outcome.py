"""Outcomes of calls, in a form that does not depend on resourceVersions.

The same call on the same objects has the same outcome, whatever the versions are. So the server computes it once, and
the model applies it in every other state that has these objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson
import xxhash

from kontend.cluster.resources import Registry, Resource
from kontend.cluster.state import Change, State
from kontend.cluster.wire.response import ApiResponse
from kontend.explore.model.answer import OK, Answer, Refusal
from kontend.explore.model.state.process import InFlight, MetVersion
from kontend.explore.program.symbols import unbind, version_token
from kontend.kube.meta.names import Key
from kontend.runtime.client.call import Call


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a call."""

    #: Stands for the response in the program tree; and the response itself, with tokens for versions.
    key: Any
    response: bytes
    #: The objects whose versions the run meets with this response, in order.
    met: tuple[tuple[str, Key], ...]
    writes: tuple[Change, ...]
    #: The number of identities that the server handed out (0 or 1 requests' worth).
    issued: int
    #: The served resources after a change of definitions; None where they stay the same.
    registry: Registry | None
    #: The object that a later cached read must show (or, with a uid, must not show any more).
    own: tuple[Key, str] | None
    answer: Answer = OK

    def applied(self, state: State) -> State:
        """The cluster after the writes."""
        for change in self.writes:
            if change.new is None:
                state = state.remove(change.resource, change.key)
            else:
                new = change.new
                state, _ = state.write(change.resource, change.key, new.body, new.managed, filled=new.filled)
        return state if self.registry is None else state.replace(registry=self.registry)

    def portable(self) -> Outcome:
        """This outcome without the history of the state in which it was computed."""
        writes = tuple(Change(change.resource, change.key, None, change.new, 0, None) for change in self.writes)
        return replace(self, writes=writes)

    def versions_after(self, versions: tuple[MetVersion, ...], after: State) -> tuple[MetVersion, ...]:
        """The versions that the run has met, as they are numbered in this state."""
        for resource, key in self.met:
            version = after.find(resource, key)
            number = version.resource_version if version is not None else after.resource_version
            versions, _ = meet(versions, (resource, key, number))
        return versions


def outcome_of(
    in_flight: InFlight,
    call: Call,
    resource: Resource,
    response: ApiResponse,
    before: State,
    after: State,
    *,
    issued: int,
    exact: bool,
) -> Outcome:
    """The outcome that a response stands for; ``exact`` leaves versions as they are."""
    body: Any = response.body
    if response.code >= 400:
        text = unbind(orjson.dumps(body), in_flight.uuids) if isinstance(body, dict) else b"{}"
        reason = body.get("reason", "") if isinstance(body, dict) else ""
        return Outcome(("!", text), b"!" + text, (), (), 0, None, None, Answer(Refusal(response.code, reason)))
    own = _own_write(call, body)
    met: list[tuple[str, Key]] = []
    if body.get("kind") != "Status":
        versions = in_flight.versions
        for item in body.get("items", [body]):
            metadata = item.get("metadata") or {}
            if not metadata.get("resourceVersion"):
                continue
            key = Key(metadata.get("namespace", ""), metadata["name"])
            versions, token = meet(versions, (resource.key, key, int(metadata["resourceVersion"])))
            met.append((resource.key, key))
            if not exact:
                metadata["resourceVersion"] = version_token(token)
        if "items" in body and not exact:
            body["metadata"]["resourceVersion"] = ""
    data = unbind(b"=" + orjson.dumps(body, option=orjson.OPT_SORT_KEYS), in_flight.uuids)
    registry = after.registry if after.registry is not before.registry else None
    writes = tuple(after.changes_since(before.resource_version))
    return Outcome(xxhash.xxh3_128_digest(data), data, tuple(met), writes, issued, registry, own)


def _own_write(call: Call, body: Mapping[str, Any]) -> tuple[Key, str] | None:
    """The write that the runtime remembers, as its client does: deletes by uid, collections not at all."""
    metadata = body.get("metadata") or {}
    if call.verb == "deletecollection" or not call.writes or (call.verb == "create" and call.subresource):
        return None
    if call.verb == "delete":
        if (body.get("apiVersion"), body.get("kind")) == ("v1", "Status"):
            return call.key, (body.get("details") or {}).get("uid") or ""
        return call.key, metadata.get("uid") or "" if _is_gone(metadata) else ""
    key = Key(metadata.get("namespace") or "", metadata.get("name") or call.name)
    is_deleted = metadata.get("deletionTimestamp") and _is_gone(metadata)
    return key, metadata.get("uid") or "" if is_deleted else ""


def _is_gone(metadata: Mapping[str, Any]) -> bool:
    return not metadata.get("finalizers") and not metadata.get("deletionGracePeriodSeconds")


def meet(versions: tuple[MetVersion, ...], one: MetVersion) -> tuple[tuple[MetVersion, ...], int]:
    """The number of a version's token in a run; a version that is new to the run gets the next one."""
    for index, other in enumerate(versions):
        if other == one:
            return versions, index
    return (*versions, one), len(versions)
