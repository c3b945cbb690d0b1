"""How an answer is shown: the object itself, a Table, or only its metadata.

Clients choose with the ``Accept`` header (``application/json;as=Table;v=v1;g=meta.k8s.io``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from kontend.cluster.request import Request, Target
from kontend.cluster.state import State
from kontend.cluster.times import rfc3339
from kontend.cluster.watch import Event, Watch
from kontend.kube import tables
from kontend.kube.errors import NotAcceptable

_SERVED: Final = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")


@dataclass(frozen=True, slots=True)
class Form:
    """What the client wants to see: empty, ``Table``, ``PartialObjectMetadata`` or its list."""

    shape: str = ""
    include_object: str = "Metadata"


_PLAIN: Final = Form()


def negotiate(accept: str, target: Target) -> Form:
    """The first form in the ``Accept`` header that can be served."""
    if accept in ("", "application/json", "*/*"):
        return _PLAIN
    for clause in accept.split(","):
        media_type, *parameters = [part.strip() for part in clause.split(";")]
        if media_type not in (*_SERVED, "*/*", "application/*"):
            continue
        if media_type == "application/vnd.kubernetes.protobuf":
            continue
        values = dict(part.split("=", 1) for part in parameters if "=" in part)
        shape = values.get("as", "")
        if not shape:
            return _PLAIN
        if values.get("g") != "meta.k8s.io" or values.get("v") not in ("v1", "v1beta1"):
            continue
        wanted = ("PartialObjectMetadata", "Table") if target.verb not in ("list", "watch") else (
            "PartialObjectMetadataList", "PartialObjectMetadata", "Table")  # fmt: skip
        if shape in wanted:
            return Form(shape)
    raise NotAcceptable(f"only the following media types are accepted: {', '.join(_SERVED)}")


def present(state: State, target: Target, request: Request, form: Form, body: Any) -> Any:
    """The answer in the form the client asked for."""
    if not form.shape or body.get("kind") == "Status":
        return body
    if form.shape == "Table":
        include = request.first("includeObject") or "Metadata"
        objects = body["items"] if "items" in body else [body]
        table = tables.table(
            target.resource.group,
            target.resource.kind,
            objects,
            columns=target.resource.custom.printer_columns if target.resource.custom is not None else None,
            now=rfc3339(state.now),
            include_object=include,
        )
        table["metadata"] = _list_metadata(body)
        return table
    if form.shape == "PartialObjectMetadataList":
        return tables.partial_metadata_list(body)
    return tables.partial_metadata(body)


def _list_metadata(body: dict[str, Any]) -> dict[str, Any]:
    if "items" in body:
        return {name: value for name, value in body["metadata"].items() if value}
    return {"resourceVersion": body["metadata"].get("resourceVersion", "")}


@dataclass(frozen=True, slots=True)
class Stream:
    """A watch and the form in which its events are shown."""

    watch: Watch
    target: Target
    form: Form

    def since(self, state: State) -> tuple[list[Event], Stream]:
        """The events up to ``state``, and the stream that goes on from there."""
        events, watch = self.watch.since(state)
        return [self.show(state, event) for event in events], replace(self, watch=watch)

    def show(self, state: State, event: Event) -> Event:
        """One event in the form the client asked for."""
        if not self.form.shape or event["type"] == "ERROR":
            return event
        shown = present(state, self.target, Request("GET", ""), self.form, event["object"])
        return {"type": event["type"], "object": shown}
