"""Responses of the API server."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kontend.cluster.effects import Suspension
from kontend.cluster.wire.present import Stream
from kontend.kube.errors import ApiError


@dataclass(slots=True)
class ApiResponse:
    """A response. ``body`` is JSON, or text for the few paths that are not API resources."""

    code: int
    body: Any = None
    warnings: list[str] = field(default_factory=list)
    #: For a watch: the stream of events to send from now on. ``body`` has the events so far.
    watch: Stream | None = None
    #: For a request that waits for webhooks: the calls to make. Nothing else is set then.
    suspended: Suspension | None = None
    #: The media type, where it is not just JSON or plain text.
    content_type: str = ""

    @classmethod
    def of_error(cls, error: ApiError, warnings: Iterable[str] = ()) -> ApiResponse:
        """Return the answer to a refused request."""
        return cls(error.http_code, error.status(), list(warnings))
