"""Reading: one object or a list, at the requested resourceVersion.

Lists are sorted by namespace and name. ``resourceVersion`` and ``resourceVersionMatch`` choose the moment: now (empty,
``0`` or not older than), exactly then (walking the history back), or too early and too late, which are errors.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import orjson

from kontend.cluster.options import ListOptions
from kontend.cluster.request import Target
from kontend.cluster.resources import Resource
from kontend.cluster.state import State, Version
from kontend.cluster.storage import read_back
from kontend.cluster.verbs.selection import Pair, Selection, in_order, selected, starting_at
from kontend.kube.encoding.json_syntax import go_kind
from kontend.kube.encoding.json_text import MalformedJSON, parse_json
from kontend.kube.errors import ApiError, BadRequest, Gone, Timeout, not_found, timeout
from kontend.kube.field_errors import go_quote
from kontend.kube.golang.base64 import decode_raw_url_base64
from kontend.kube.golang.strconv import whole_number
from kontend.kube.meta.field_selectors import FieldSelector, parse_field_selector
from kontend.kube.meta.selectors import parse_selector

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


@dataclass(frozen=True, slots=True)
class Listing:
    """The stored objects that a list answers with, at one moment, and where the next page begins."""

    resource: Resource
    at: int
    versions: Sequence[Version]
    #: The token of the next page, and the number of objects on it and later ones, where that is known.
    token: str = ""
    remaining: int = 0
    #: The objects, where they had to be read in order to compare them with a selector.
    read: list[dict[str, Any]] | None = None

    def head(self) -> dict[str, Any]:
        """Return the list without its items."""
        metadata: dict[str, Any] = {"resourceVersion": str(self.at)}
        if self.resource.custom is not None or self.token:
            metadata["continue"] = self.token
        if self.remaining:
            metadata["remainingItemCount"] = self.remaining
        return {"kind": self.resource.list_kind, "apiVersion": self.resource.api_version, "metadata": metadata}


def listing(state: State, target: Target, options: ListOptions) -> Listing:
    """Return what a client asked for with a list, perhaps one page of it."""
    start = ""
    selection = selection_of(target, options)
    if options.continue_token:
        at, start = _continuation(state, options)
    else:
        at = _moment(state, options)
    limit = max(options.limit, 0) if options.resource_version != "0" and not _one_name(target, options) else 0
    exact = None if selection is None else selected(state, target, at, selection, start, limit)
    if selection is not None and exact is None:
        return _compared(target, at, starting_at(in_order(state, target, at), start), selection, limit)
    pairs = starting_at(in_order(state, target, at), start) if exact is None else exact
    # With a selector, the server does not look whether a later object would be selected.
    has_more = limit and len(pairs) > limit
    if limit and selection is not None and len(pairs) >= limit:
        has_more = in_order(state, target, at)[-1][0] > pairs[limit - 1][0]
    if not has_more:
        return Listing(target.resource, at, [version for _, version in pairs])
    token = _token(at, pairs[limit - 1][0] + "\0")
    remaining = 0 if selection is not None else len(pairs) - limit
    return Listing(target.resource, at, [version for _, version in pairs[:limit]], token, remaining)


def _compared(target: Target, at: int, pairs: list[Pair], selection: Selection, limit: int) -> Listing:
    """Return the objects that a selection selects, each read and compared."""
    resource = target.resource
    versions: list[Version] = []
    items: list[dict[str, Any]] = []
    last = ""
    for path, version in pairs:
        if limit and len(items) == limit:
            return Listing(resource, at, versions, _token(at, last + "\0"), read=items)
        obj = read_back(resource, version)
        if selection.matches(resource, obj):
            versions.append(version)
            items.append(obj)
            last = path
    return Listing(resource, at, versions, read=items)


def list_objects(state: State, target: Target, options: ListOptions) -> dict[str, Any]:
    """Return the list that a client asked for, perhaps one page of it."""
    found = listing(state, target, options)
    items = found.read
    if items is None:
        items = [read_back(found.resource, version) for version in found.versions]
    return {**found.head(), "items": [list_item(found.resource, item) for item in items]}


def list_item(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object as an item of a list, which names built-in kinds once for all."""
    if resource.custom is None:
        obj.pop("apiVersion", None)
        obj.pop("kind", None)
    return obj


def _one_name(target: Target, options: ListOptions) -> bool:
    """Report that the selector names one object, which the server then reads on its own, without pages."""
    if not options.field_selector or (target.resource.namespaced and not target.namespace):
        return False
    return parse_field_selector(options.field_selector).exact("metadata.name") is not None


def select(state: State, target: Target, options: ListOptions) -> list[Version]:
    """Return the stored objects that a list would return now."""
    found = listing(state, target, options)
    return list(found.versions)


def selection_of(target: Target, options: ListOptions) -> Selection | None:
    """Return the requirements of the selectors; None when they match everything."""
    labels = parse_selector(options.label_selector) if options.label_selector else None
    fields = _field_selector(target, options.field_selector) if options.field_selector else None
    return None if labels is None and fields is None else Selection(labels, fields)


def filter_of(target: Target, options: ListOptions) -> ObjectFilter | None:
    """Return the predicate of the selectors; None when they match everything."""
    selection = selection_of(target, options)
    return None if selection is None else partial(selection.matches, target.resource)


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
    """Return a resourceVersion as a number; empty is 0."""
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


def _token_problem(value: Any) -> str:
    """Return the server's complaint about the content of a token, if it has one."""
    if value is not None and not isinstance(value, dict):
        return f"json: cannot unmarshal {go_kind(value)} into Go value of type storage.continueToken"
    fields = {"v": "", "rv": 0, "start": ""}
    for name, content in (value or {}).items():
        if name not in fields or content is None:
            continue
        if type(content) is not type(fields[name]):
            of = "int64" if name == "rv" else "string"
            return f"json: cannot unmarshal {go_kind(content)} into Go struct field continueToken.{name} of type {of}"
        fields[name] = content
    if fields["v"] != "meta.k8s.io/v1":
        return f"server does not recognize this encoded version {fields['v']}"
    if not fields["rv"]:
        return "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
    start = str(fields["start"])
    if not start:
        return "encoded start key empty (version meta.k8s.io/v1)"
    # A path that leads elsewhere is refused with the path itself.
    steps = start.removeprefix("/").split("/")
    return start if steps != [""] and not {"", ".", ".."}.isdisjoint(steps) else ""


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
    problem = _token_problem(value)
    if problem:
        raise BadRequest(bad + problem)
    at, start = value["rv"], value["start"]
    if options.resource_version and options.resource_version != "0":
        raise BadRequest("specifying resource version is not allowed when using continue")
    if at < 0:
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
