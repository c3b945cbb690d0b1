"""Fixtures of the server's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kontend.pytest_plugin import kontend_server, pytest_configure
from kontend.serve.background import BackgroundServer
from serve.wire import Client

__all__ = ["client", "kontend_server", "pytest_configure"]


@pytest.fixture
def client(kontend_server: BackgroundServer) -> Iterator[Client]:
    """A client of a server that is empty but for what the test's mark says."""
    with Client(kontend_server.url) as connection:
        yield connection
