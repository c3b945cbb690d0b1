"""Facts that the operating system shows about processes."""

from __future__ import annotations

import os
import socket

import pytest

from kontend.live.process.processes import age, can_see_processes, listening

pytestmark = pytest.mark.skipif(not can_see_processes(), reason="this system does not show processes")


def test_a_port_on_which_a_process_listens_is_seen_and_one_to_which_it_is_connected_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        ports = listening([os.getpid()])
        assert server.getsockname()[1] in ports
        assert client.getsockname()[1] not in ports


def test_the_age_of_a_process_grows() -> None:
    first = age()
    assert 0 < first <= age()
