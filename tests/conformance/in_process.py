"""The API server in this process, as a server for the recorded exchanges."""

from __future__ import annotations

from typing import Any

from conformance.replayer import Exchange, definitions
from kontend import Cluster
from kontend.cluster.request import ApiRequest


class InProcess:
    """One cluster; nothing goes over a wire."""

    def __init__(self) -> None:
        self.cluster = Cluster(crds=definitions())

    def send(self, exchange: Exchange) -> tuple[int, Any]:
        """Hand a request to the cluster."""
        response = self.cluster.request(
            ApiRequest(
                exchange.method,
                exchange.path,
                {name: (value,) for name, value in exchange.query.items()},
                exchange.body or b"",
                content_type=exchange.content_type,
                accept=exchange.accept,
                user_agent=exchange.agent,
            )
        )
        return response.code, response.body
