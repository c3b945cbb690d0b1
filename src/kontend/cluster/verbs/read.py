"""Reading: one object or a list, at the requested resourceVersion.

Lists are sorted by namespace and name. ``resourceVersion`` and ``resourceVersionMatch`` choose the moment: now (empty,
``0`` or not older than), exactly then (walking the history back), or too early and too late, which are errors.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, Final

import orjson

from kontend.cluster.memo import Memo
from kontend.cluster.options import ListOptions
from kontend.cluster.request import Target
from kontend.cluster.resources import Resource
from kontend.cluster.state import Objects, State, Version
from kontend.cluster.storage import read_back
from kontend.kube.encoding.json_text import MalformedJSON, parse_json
from kontend.kube.errors import ApiError, BadRequest, Gone, Timeout, not_found, timeout
from kontend.kube.field_errors import go_quote
from kontend.kube.golang.base64 import decode_raw_url_base64
from kontend.kube.golang.strconv import whole_number
from kontend.kube.meta.field_selectors import FieldSelector, parse_field_selector
from kontend.kube.meta.selectors import LabelSelector, parse_selector

ObjectFilter = Callable[[Mapping[str, Any]], bool]


def get(state: State, target: Target, resource_version: str = "") -> dict[str, Any]:
    """One object, as it is now."""
    wanted = parse_version(resource_version, ApiError)
    version = state.find(target.resource.key, target.key)
    if wanted > state.resource_version:
        raise too_large(wanted, state.resource_version)
    if version is None:
        raise not_found(target.resource.group, target.resource.plural, target.name)
    return read_back(target.resource, version)


def list_objects(state: State, target: Target, options: ListOptions) -> dict[str, Any]:
    """The list that a client asked for, perhaps one page of it."""
    resource = target.resource
    start = ""
    predicate = filter_of(target, options)
    if options.continue_token:
        at, start = _continuation(state, options)
    else:
        at = _moment(state, options)
    versions = _sorted(state, target, at)
    if start:
        versions = [pair for pair in versions if pair[0] >= start]
    items: list[dict[str, Any]] = []
    more, remaining = "", 0
    limit = options.limit if options.resource_version != "0" and not _one_name(target, options) else 0
    for position, (key, version) in enumerate(versions):
        if limit and len(items) == limit:
            more, remaining = key, len(versions) - position
            break
        obj = read_back(resource, version)
        if predicate is None or predicate(obj):
            items.append(obj)
    answer = list_of(resource, items, at)
    if more:
        last = items[-1]["metadata"]
        prefix = "" if target.namespace else "".join((last.get("namespace", ""), "/")) if resource.namespaced else ""
        answer["metadata"]["continue"] = _token(at, prefix + last["name"] + "\0")
        if predicate is None:
            answer["metadata"]["remainingItemCount"] = remaining
    return answer


def _one_name(target: Target, options: ListOptions) -> bool:
    """Reports that the selector names one object, which the server then reads on its own, without pages."""
    if not options.field_selector or (target.resource.namespaced and not target.namespace):
        return False
    return parse_field_selector(options.field_selector).exact("metadata.name") is not None


def list_of(resource: Resource, items: list[dict[str, Any]], resource_version: int) -> dict[str, Any]:
    """A list object around items, in the form that differs between built-in and custom kinds."""
    metadata: dict[str, Any] = {"resourceVersion": str(resource_version)}
    if resource.custom is not None:
        metadata["continue"] = ""
    else:
        for item in items:
            item.pop("apiVersion", None)
            item.pop("kind", None)
    return {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": metadata, "items": items}


def select(state: State, target: Target, options: ListOptions) -> list[Version]:
    """The stored objects that a list would return now."""
    predicate = filter_of(target, options)
    versions = [version for _, version in _sorted(state, target, _moment(state, options))]
    if predicate is not None:
        versions = [version for version in versions if predicate(version.content())]
    return versions[: options.limit] if options.limit else versions


def _sorted(state: State, target: Target, at: int) -> list[tuple[str, Version]]:
    resource, namespace = target.resource, target.namespace
    if at == state.resource_version:
        objects = state.objects(resource.key)
    else:
        objects = state.objects_at(resource.key, at)
    if target.name:
        version = objects.get(target.key)
        path = target.name if namespace or not resource.namespaced else f"{namespace}/{target.name}"
        return [] if version is None else [(path, version)]
    if len(objects) <= _FEW:
        return _pairs(objects, resource, namespace)
    by_namespace = _lists(objects)
    pairs = by_namespace.get(namespace)
    if pairs is None:
        pairs = by_namespace[namespace] = _pairs(objects, resource, namespace)
    return pairs


def _pairs(objects: Objects, resource: Resource, namespace: str) -> list[tuple[str, Version]]:
    if namespace and resource.namespaced:
        pairs = [(key[1], version) for key, version in objects.items() if key[0] == namespace]
    elif resource.namespaced:
        pairs = [(f"{key[0]}/{key[1]}", version) for key, version in objects.items()]
    else:
        pairs = [(key[1], version) for key, version in objects.items()]
    pairs.sort(key=_path_of)
    return pairs


_path_of: Final = itemgetter(0)
#: Up to so many objects are sorted again for each list.
_FEW: Final = 8


def _no_lists(_: Objects) -> dict[str, list[tuple[str, Version]]]:
    return {}


#: The objects of a resource in order, by namespace.
_lists: Final = Memo(_no_lists)


def filter_of(target: Target, options: ListOptions) -> ObjectFilter | None:
    """Returns the predicate of the selectors; None when they match everything."""
    labels = parse_selector(options.label_selector) if options.label_selector else None
    fields = _field_selector(target, options.field_selector) if options.field_selector else None
    if labels is None and fields is None:
        return None
    return _filter(target.resource, labels, fields)


def _filter(resource: Resource, labels: LabelSelector | None, fields: FieldSelector | None) -> ObjectFilter:
    def predicate(obj: Mapping[str, Any]) -> bool:
        if labels is not None and not labels.matches(obj["metadata"].get("labels") or {}):
            return False
        return fields is None or fields.matches(resource.strategy.field_labels(obj))

    return predicate


def _field_selector(target: Target, text: str) -> FieldSelector:
    strategy = target.resource.strategy
    selector = parse_field_selector(text)
    renamed = []
    for requirement in selector.requirements:
        label = strategy.canonical_field_label(requirement.field)
        if label is None:
            raise BadRequest(strategy.unsupported_field_label(requirement.field))
        renamed.append(requirement._replace(field=label))
    return FieldSelector(tuple(renamed))


# Resource versions


def parse_version(text: str, error: type[ApiError]) -> int:
    """A resourceVersion as a number; empty is 0."""
    if not text:
        return 0
    digits = text.isascii() and text.isdigit()
    if not digits or whole_number(text) >= 2**64:
        problem = "value out of range" if digits else "invalid syntax"
        why = (
            f"resourceVersion: Invalid value: {go_quote(text)}: strconv.ParseUint: parsing {go_quote(text)}: {problem}"
        )
        if error is BadRequest:
            raise BadRequest(f"invalid resource version: {why}")
        raise ApiError(why, code=500)
    return whole_number(text)


def _moment(state: State, options: ListOptions) -> int:
    wanted = parse_version(options.resource_version, BadRequest)
    match = options.resource_version_match
    exact = match == "Exact" or (not match and options.limit > 0)
    if wanted > state.resource_version:
        raise too_large(wanted, state.resource_version, retry_after=0 if exact else 1)
    if not wanted or not exact:
        return state.resource_version
    if wanted < state.floor:
        raise Gone("The resourceVersion for the provided list is too old.")
    return wanted


def too_large(wanted: int, current: int, *, retry_after: int = 1) -> Timeout:
    """The client has seen a version that this server has not."""
    return timeout(
        f"Too large resource version: {wanted}, current: {current}",
        retry_after=retry_after,
        causes=[{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
    )


def expired(wanted: int, oldest: int) -> Gone:
    """The version is no longer in the history."""
    return Gone(f"too old resource version: {wanted} ({oldest})")


# Pages


#: The version of a token that continues at whatever there is now.
_INCONSISTENT: Final = -1


def _token(at: int, start: str) -> str:
    raw = orjson.dumps({"v": "meta.k8s.io/v1", "rv": at, "start": start})
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _continuation(state: State, options: ListOptions) -> tuple[int, str]:
    token = options.continue_token
    bad = "invalid continue token: continue key is not valid: "
    try:
        raw = decode_raw_url_base64(token)
    except ValueError as error:
        raise BadRequest(f"{bad}{error}") from None
    try:
        value = parse_json(raw)[0]
    except MalformedJSON as error:
        raise BadRequest(bad + error.message) from None
    if not isinstance(value, dict) or value.get("v") != "meta.k8s.io/v1":
        version = value.get("v", "") if isinstance(value, dict) else ""
        raise BadRequest(f"{bad}server does not recognize this encoded version {version}")
    at, start = value.get("rv"), value.get("start")
    if not isinstance(at, int) or not isinstance(start, str) or not start:
        raise BadRequest(f"{bad}encoded start resourceVersion 0 (meta.k8s.io/v1)")
    if options.resource_version and options.resource_version != "0":
        raise BadRequest("specifying resource version is not allowed when using continue")
    if at == 0 or at == -1:
        return state.resource_version, start
    if at < state.floor:
        raise Gone(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list "
            "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
            "the results. Continuing with the provided token results in an inconsistent list - objects that were "
            "created, modified, or deleted between the time the first chunk was returned and now may show up in the "
            "list.",
            continue_token=_token(_INCONSISTENT, start),
        )
    return min(at, state.resource_version), start
