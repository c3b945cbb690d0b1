"""The served cluster for what runs inside the server, on its event loop and ahead of the disk."""

from __future__ import annotations

import time
from typing import Protocol

from kontend.cluster.cluster import Cluster
from kontend.cluster.request import ApiRequest
from kontend.cluster.state import State
from kontend.cluster.users import ADMIN
from kontend.cluster.wire.response import ApiResponse
from kontend.serve.storage.committing import Commits


class Requests(Protocol):
    """Carries out requests that did not come over a connection."""

    def request(self, request: ApiRequest) -> ApiResponse:
        """Return the response. Raises :class:`~kontend.cluster.effects.Waiting` when it comes later."""


class InsideCluster(Cluster):
    """A cluster whose state is the newest of the server."""

    def __init__(self, server: Requests, commits: Commits) -> None:
        self._server = server
        self._commits = commits
        self.manager, self.user = "kontend", ADMIN
        self.warnings = []

    @property
    def state(self) -> State:
        self._commits.tick(int(time.time()))
        return self._commits.newest

    @state.setter
    def state(self, state: State) -> None:
        self._commits.advance(state)

    def request(self, request: ApiRequest) -> ApiResponse:
        """Send a request, past HTTP. Raises :class:`Waiting` when the response comes later."""
        response = self._server.request(request)
        self.warnings = response.warnings
        return response
