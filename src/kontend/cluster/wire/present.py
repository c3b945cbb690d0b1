"""Representations of a response: the object itself, a Table, or only its metadata.

Clients choose with the ``Accept`` header (``application/json;as=Table;v=v1;g=meta.k8s.io``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from kontend.cluster.request import Target
from kontend.cluster.state import State
from kontend.cluster.times import rfc3339
from kontend.cluster.verbs.watch import Event, Watch
from kontend.cluster.wire.accept import parse_accept
from kontend.kube.errors import ApiError, NotAcceptable
from kontend.kube.printing import tables

_SERVED: Final = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")


@dataclass(frozen=True, slots=True)
class Form:
    """The representation that a client accepts: the object, ``Table``, ``PartialObjectMetadata`` or its list."""

    shape: str = ""
    version: str = "v1"


_PLAIN: Final = Form()
_SHAPES: Final = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


def negotiate(accept: str, target: Target) -> Form:
    """Return the first form in the ``Accept`` header that can be served."""
    if accept in ("", "application/json", "*/*"):
        return _PLAIN
    known = False
    for media_type, values in parse_accept(accept):
        known = known or media_type in (*_SERVED, "*/*", "application/*")
        if media_type not in ("application/json", "application/yaml", "*/*", "application/*"):
            continue
        shape, version = values.get("as", ""), values.get("v", "")
        if not shape:
            return _PLAIN
        if shape == "Table" and "list" not in target.resource.verbs:
            continue  # reviews and the like have no columns
        if values.get("g") == "meta.k8s.io" and version in ("v1", "v1beta1") and shape in _SHAPES:
            return Form(shape, version)
    if not known and target.resource.custom is None:
        streams = (
            [f"{media};stream=watch" for media in (_SERVED[0], _SERVED[2])] if target.verb in ("list", "watch") else []
        )
        served = ", ".join([*_SERVED, *streams])
        raise NotAcceptable(f"406: Not Acceptable\n\nAvailable representations: {served}", details={})
    raise NotAcceptable(f"only the following media types are accepted: {', '.join(_SERVED)}")


def present(state: State, target: Target, include_object: str, form: Form, body: Any, *, headers: bool = True) -> Any:
    """Return the answer in the form the client asked for."""
    if not form.shape or body.get("kind") == "Status":
        return body
    shown = _shown(state, target, include_object, form, body, headers)
    if form.version != "v1":
        shown["apiVersion"] = f"meta.k8s.io/{form.version}"
        for row in shown.get("rows") or ():
            if row.get("object") and row["object"].get("apiVersion") == "meta.k8s.io/v1":
                row["object"]["apiVersion"] = f"meta.k8s.io/{form.version}"
    return shown


def _shown(state: State, target: Target, include_object: str, form: Form, body: Any, headers: bool) -> Any:
    if form.shape == "Table":
        objects = _objects(target, body, include_object)
        table = tables.table(
            target.resource.group,
            target.resource.kind,
            [_internal(target, obj) for obj in objects],
            shown=objects,
            columns=target.resource.custom.printer_columns if target.resource.custom is not None else None,
            now=rfc3339(state.now),
            include_object=include_object or "Metadata",
            headers=headers,
        )
        table["metadata"] = _list_metadata(body)
        return table
    if form.shape == "PartialObjectMetadataList":
        if "items" not in body:
            raise ApiError("content is not a list", code=500)
        return tables.partial_metadata_list({**body, "items": [_internal(target, item) for item in body["items"]]})
    if "items" in body:
        go_type = "unstructured.UnstructuredList" if target.resource.custom is not None else _go_type(target)
        raise NotAcceptable(f"you requested PartialObjectMetadata, but the requested object is a list (*{go_type})")
    return tables.partial_metadata(_internal(target, body))


def _internal(target: Target, obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object in the form that the server prints: that of storage, with the metadata it has inside."""
    resource = target.resource
    if resource.custom is not None:
        return obj
    if resource.conversion is not None:
        obj = resource.to_hub(obj)
    metadata = obj.get("metadata") or {}
    inside = resource.strategy.internal_metadata(metadata)
    return obj if inside is metadata else {**obj, "metadata": inside}


def _objects(target: Target, body: dict[str, Any], include_object: str) -> list[dict[str, Any]]:
    """Return the objects of the rows; a whole object gets its kind and apiVersion, which it may lack in a list."""
    items = body.get("items")
    if items is None:
        return [body]
    if include_object != "Object":
        return items  # type: ignore[no-any-return]
    return [{"kind": target.resource.kind, "apiVersion": target.resource.api_version, **item} for item in items]


def _go_type(target: Target) -> str:
    return f"{(target.resource.internal_group or 'core').partition('.')[0]}.{target.resource.list_kind}"


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
    include_object: str = ""

    def since(self, state: State) -> tuple[list[Event], Stream]:
        """Return the events up to ``state``, and the stream that goes on from there."""
        events, watch = self.watch.since(state)
        return [self.show(state, event) for event in events], replace(self, watch=watch)

    def show(self, state: State, event: Event, *, first: bool = False) -> Event:
        """Return one event in the form the client asked for. Only the first Table defines its columns."""
        if not self.form.shape or event["type"] == "ERROR":
            return event
        shown = present(state, self.target, self.include_object, self.form, event["object"], headers=first)
        return {"type": event["type"], "object": shown}
