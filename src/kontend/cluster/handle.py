"""The API server, as one pure function.

    handle(state, request) -> (state, response)

A refused request gives back the state it was given. Nothing here reads a clock, draws a random number or does I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from kontend.cluster.access import rbac
from kontend.cluster.access.reviews import answer, is_review
from kontend.cluster.access.tokens import request_token
from kontend.cluster.admission import chain as admission
from kontend.cluster.effects import MOST_ROUNDS, RESERVED, Answers, Progress, Suspended
from kontend.cluster.effects.conversion import Conversions, Known
from kontend.cluster.options import delete_options, list_options, write_options
from kontend.cluster.registration import definitions
from kontend.cluster.request import APPLY_PATCH, ApiRequest, PageNotFound, Target, route
from kontend.cluster.resources import Resource, body_of
from kontend.cluster.state import State
from kontend.cluster.storage import with_managed_fields
from kontend.cluster.subresources.connections import CONNECTIONS, connect
from kontend.cluster.subresources.pods import bind_named_pod, bind_pod, evict_pod
from kontend.cluster.subresources.scale import get_scale, patch_scale, update_scale
from kontend.cluster.verbs.create import create, receive
from kontend.cluster.verbs.delete import delete, delete_collection
from kontend.cluster.verbs.patch import check_patch_type, patch
from kontend.cluster.verbs.read import get, list_objects, listing
from kontend.cluster.verbs.update import update
from kontend.cluster.verbs.watch import Event, watch
from kontend.cluster.wire import discovery, present
from kontend.cluster.wire.decoding import check_media_type, check_size, decode_object, parse_body
from kontend.cluster.wire.encoded import encoded_list, encoded_object, is_long
from kontend.cluster.wire.response import ApiResponse
from kontend.kube.encoding.json_text import MalformedJSON, MalformedYAML
from kontend.kube.errors import ApiError, BadRequest, timeout

Outcome = tuple[State, Any, int]


def handle(
    state: State,
    request: ApiRequest,
    progress: Progress | None = None,
    *,
    wait: bool = False,
    known: Known | None = None,
) -> tuple[State, ApiResponse]:
    """Answers one request: the state after it, and the response.

    With ``wait``, a request that needs webhooks is suspended: the response names the calls to make, and the request is
    to be handled again with the ``progress`` that has their answers. ``known`` are conversions that are known already.
    """
    after, response = handle_lazily(state, request, progress, wait=wait, known=known)
    if response.watch is None:
        return after, response
    return after, replace(response, body=[event for event in response.body if event is not None])


def handle_lazily(
    state: State,
    request: ApiRequest,
    progress: Progress | None = None,
    *,
    wait: bool = False,
    known: Known | None = None,
    encoded: bool = False,
) -> tuple[State, ApiResponse]:
    """Do as :func:`handle`, but makes the first events of a watch only as they are read, once.

    None among them is a pause, for a caller that has other things to do as well. With ``encoded``, long lists and the
    objects of events are JSON that all readers share.
    """
    if progress is None:
        try:
            return _converting(state, request, Answers({}, state.hooks.webhooks, wait=wait), known, wait, encoded)
        except Suspended as suspended:
            progress = Progress(state.now, state.serial)
            reserved = state.replace(serial=state.serial + RESERVED)
            return reserved, ApiResponse(0, suspended=suspended.with_progress(progress))
    # It goes on as if it were still the moment at which it began: the same time, the same uids.
    then = state.replace(now=progress.now, serial=progress.serial)
    try:
        answers = Answers(progress.answers, state.hooks.webhooks, wait=wait)
        after, response = _converting(then, request, answers, known, wait, encoded)
    except Suspended as suspended:
        if progress.rounds < MOST_ROUNDS:
            return state, ApiResponse(0, suspended=suspended.with_progress(progress))
        error = timeout("the object changed each time that the webhooks had answered")
        return state, ApiResponse.of_error(error)
    return after.replace(now=state.now, serial=state.serial), response


def _converting(
    state: State, request: ApiRequest, answers: Answers, known: Known | None, wait: bool, encoded: bool
) -> tuple[State, ApiResponse]:
    """Handle a request during which objects may have to be converted by webhooks."""
    if not state.registry.converts_by_webhook:
        return _handle(state, request, answers, encoded=encoded)
    conversions = Conversions({} if known is None else known, state.hooks.webhooks, wait=wait)
    with conversions.active():
        try:
            outcome = _handle(state, request, answers)
        except Suspended:
            if not conversions.calls():
                raise
    # What was made of stand-ins counts for nothing.
    calls = conversions.calls()
    if calls:
        raise Suspended([call for call, _ in calls], conversions)
    return outcome


def _handle(state: State, request: ApiRequest, answers: Answers, *, encoded: bool = False) -> tuple[State, ApiResponse]:
    target: Target | None = None
    try:
        rbac.check(state, request)
        response = discovery.respond(state.registry, request)
        if response is not None:
            return state, response
        target = route(state.registry, request)
        if target.resource.custom is not None and target.resource.custom.deprecation:
            target.warn(target.resource.custom.deprecation)
        target.answers = answers
        if target.verb == "watch":
            return state, _watch(state, target, request, encoded)
        form = present.negotiate(request.accept, target)
        if encoded and target.verb == "list":
            found = listing(state, target, list_options(request.query, watching=False))
            if is_long(found, form):
                listed = encoded_list(state, target, form, request.first("includeObject"), found)
                return state, ApiResponse(200, listed, target.warnings)
        after, body, code = _VERBS[target.verb](state, target, request)
        body = present.present(after, target, request.first("includeObject"), form, body)
    except PageNotFound:
        return state, ApiResponse(404, "404 page not found\n")
    except ApiError as error:
        return state, ApiResponse.of_error(error, target.warnings if target else ())
    return definitions.follow(state, after), ApiResponse(code, body, target.warnings)


def _watch(state: State, target: Target, request: ApiRequest, encoded: bool) -> ApiResponse:
    options = list_options(request.query, watching=True)
    form = present.negotiate(request.accept, target)
    events, watching = watch(state, target, options, encoded_object if encoded and not form.shape else None)
    stream = present.Stream(watching, target, form, request.first("includeObject"))
    # Made as they are read, so that a client that reads slowly holds no more than it has been sent.
    shown = _shown(state, stream, events)
    eager = state.registry.converts_by_webhook  # what must be converted must be known now
    return ApiResponse(200, list(shown) if eager else shown, target.warnings, watch=stream)


def _shown(state: State, stream: present.Stream, events: Iterable[Event | None]) -> Iterator[Event | None]:
    first = True
    for event in events:
        yield None if event is None else stream.show(state, event, first=first)
        first = first and event is None


def _get(state: State, target: Target, request: ApiRequest) -> Outcome:
    if target.subresource == "scale":
        return state, get_scale(state, target), 200
    if target.subresource in CONNECTIONS:
        return connect(state, target, request)
    return state, get(state, target, request.first("resourceVersion")), 200


def _list(state: State, target: Target, request: ApiRequest) -> Outcome:
    return state, list_objects(state, target, list_options(request.query, watching=False)), 200


def _create(state: State, target: Target, request: ApiRequest) -> Outcome:
    check_media_type(request)
    check_size(request.body)
    target.options = write_options(request.query, kind="CreateOptions", user_agent=request.user_agent)
    if target.subresource in ("binding", "eviction"):
        body = _subresource_body(target, request)
        if isinstance(body.get("metadata"), dict):
            admission.admit(state, target, body, None)
            admission.validate(state, target, body, None)
        act = bind_pod if target.subresource == "binding" else evict_pod
        state, status = act(state, target, body)
        return state, status, 201
    if target.subresource == "token":
        body = _subresource_body(target, request)
        body.setdefault("metadata", {})
        managed = receive(state, replace(target, resource=_body_resource(target)), body)
        state, token = request_token(state, target, body)
        return state, with_managed_fields(token, managed), 201
    if target.subresource:
        return connect(state, target, request)
    if is_review(target):
        review = decode_object(target, request)
        return state, answer(state, target, with_managed_fields(review, receive(state, target, review))), 201
    if target.resource.key == "bindings":
        state, status = bind_named_pod(state, target, decode_object(target, request))
        return state, status, 201
    state, obj = create(state, target, decode_object(target, request))
    return state, obj, 201


def _update(state: State, target: Target, request: ApiRequest) -> Outcome:
    check_size(request.body)
    target.options = write_options(request.query, kind="UpdateOptions", user_agent=request.user_agent)
    if target.subresource == "scale":
        state, obj = update_scale(state, target, _scale_body(target, request))
        return state, obj, 200
    obj = decode_object(target, request)
    state, obj, created = update(state, target, obj)
    return state, obj, 201 if created else 200


def _patch(state: State, target: Target, request: ApiRequest) -> Outcome:
    patch_type = check_patch_type(target, request.content_type)
    check_size(request.body)
    target.options = write_options(
        request.query, kind="PatchOptions", user_agent=request.user_agent, apply=patch_type == APPLY_PATCH
    )
    if target.subresource == "scale":
        state, obj = patch_scale(state, target, patch_type, request.body)
        return state, obj, 200
    state, obj, created = patch(state, target, patch_type, request.body)
    return state, obj, 201 if created else 200


def _delete(state: State, target: Target, request: ApiRequest) -> Outcome:
    return delete(state, target, delete_options(request.query, _options_body(request)))


def _delete_collection(state: State, target: Target, request: ApiRequest) -> Outcome:
    selection = list_options(request.query, watching=False)
    options = delete_options(request.query, _options_body(request))
    state, deleted = delete_collection(state, target, options, selection)
    return state, deleted, 200


def _options_body(request: ApiRequest) -> Any:
    if not request.body:
        return None
    check_size(request.body)
    try:
        return parse_body(request)[0]
    except (MalformedJSON, MalformedYAML) as error:
        raise BadRequest(f"couldn't get version/kind; json parse error: {error.message}") from None


def _scale_body(target: Target, request: ApiRequest) -> dict[str, Any]:
    if target.resource.custom is not None:
        # The scheme of custom resources has no defaults for what a body leaves out.
        try:
            written = parse_body(request)[0]
        except (MalformedJSON, MalformedYAML):
            written = None  # refused below, in the usual words
        if isinstance(written, dict) and not (written.get("apiVersion") and written.get("kind")):
            raise BadRequest('no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"')
    return _subresource_body(target, request)


def _subresource_body(target: Target, request: ApiRequest) -> dict[str, Any]:
    """Return the body of a subresource that is a kind of its own."""
    return decode_object(replace(target, resource=_body_resource(target)), request)


def _body_resource(target: Target) -> Resource:
    info = target.resource.subresources[target.subresource]
    return body_of(info.group, info.version, info.kind)


_VERBS = {
    "get": _get,
    "list": _list,
    "create": _create,
    "update": _update,
    "patch": _patch,
    "delete": _delete,
    "deletecollection": _delete_collection,
}
