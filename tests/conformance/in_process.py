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


class Busy(InProcess):
    """The same, while another client writes: no two requests see the same resourceVersion of a list.

    The wide cases were recorded sixteen at a time, so the version of a list is later than that of its objects.
    """

    def __init__(self) -> None:
        super().__init__()
        self.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "busy"}})
        self.writes = 0

    def send(self, exchange: Exchange) -> tuple[int, Any]:
        """Write elsewhere, then hand the request to the cluster."""
        self.writes += 1
        metadata = {"name": "busy", "namespace": "busy"}
        data = {"writes": str(self.writes)}
        self.cluster.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}, manager="neighbour"
        )
        return super().send(exchange)
