"""Requests answered from a state: pure functions, on the event loop or in a thread."""

from __future__ import annotations

from typing import Final

from kontend.cluster.effects import Progress
from kontend.cluster.effects.conversion import Known
from kontend.cluster.handle import handle, handle_lazily
from kontend.cluster.request import ApiRequest, PageNotFound, not_allowed, route
from kontend.cluster.state import State
from kontend.cluster.wire.encoded import EncodedList
from kontend.cluster.wire.response import ApiResponse
from kontend.serve.requests import pages
from kontend.serve.requests.exchange import Answer, Exchange

_NOTHING: Final[Answer] = (b"", b"")


def read(
    state: State,
    exchange: Exchange,
    progress: Progress | None = None,
    known: Known | None = None,
    *,
    encoded: bool = False,
) -> tuple[ApiResponse, Answer | None]:
    """Return the response to a read and its bytes.

    There are no bytes for a watch, where the version is not there yet, while webhooks must be asked, and for a long
    list with ``encoded``.
    """
    request = exchange.request
    response = pages.respond(state, request)
    if response is None:
        if exchange.incoming.method != "GET" and exchange.reads:
            _check_method(state, request)
        encoded = encoded and exchange.takes_pieces
        response = handle_lazily(state, request, progress, wait=known is not None, known=known, encoded=encoded)[1]
    later = response.watch is not None or response.suspended is not None or response.code == 504
    later = later or isinstance(response.body, EncodedList)
    return response, None if later else exchange.encoded(response)


def write(
    state: State, exchange: Exchange, progress: Progress | None, known: Known
) -> tuple[State, ApiResponse, Answer]:
    """Return the state after a write, the response and its bytes; no bytes while webhooks must be asked.

    Raises an ApiError for protobuf that cannot be read.
    """
    if exchange.is_protobuf:
        from kontend.serve.protobuf.requests import as_json  # large, and only some clients send it

        exchange.request = as_json(state.registry, exchange.request)
    after, response = handle(state, exchange.request, progress, wait=True, known=known)
    return after, response, _NOTHING if response.suspended is not None else exchange.encoded(response)


def differ_in_time_only(one: State, other: State) -> bool:
    """Return whether two states differ in nothing but the time."""
    return (
        one.resource_version == other.resource_version
        and one.serial == other.serial
        and one.kinds is other.kinds
        and one.registry is other.registry
        and one.settings is other.settings
    )


def _check_method(state: State, request: ApiRequest) -> None:
    """Refuses HEAD and OPTIONS of built-in resources, which are routed by their methods; custom ones are not."""
    if request.path.startswith("/api"):
        try:
            builtin = route(state.registry, request).resource.custom is None
        except PageNotFound:
            return
        if builtin:
            raise not_allowed()
