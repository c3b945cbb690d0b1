"""HTTP/2 frame by frame: requests side by side, windows, resets, and clients that do not play by the rules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import wraps

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kontend import Cluster
from kontend.serve import clients as clients_module
from kontend.serve.credentials.identity import Tokens
from kontend.serve.http2 import connection as connection_module
from kontend.serve.http2 import frames
from kontend.serve.http2.frames import ConnectionFault
from kontend.serve.server import Server
from serve.http2.peer import GET, Peer, block
from serve.wire import CONFIG_MAPS, config_map

Test = Callable[..., Awaitable[None]]
MAP = json.dumps(config_map("a")).encode()
#: Longer than the window that a client has at first.
LARGE = "x" * 100_000


@pytest.fixture(autouse=True)
def long_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns do not end in the middle of a test, however slow the machine is."""
    monkeypatch.setattr(connection_module, "_TURN", 3600.0)


def on_loop(test: Test) -> Callable[..., None]:
    """Runs a test on an event loop."""

    @wraps(test)
    def run(*arguments: object, **named: object) -> None:
        asyncio.run(test(*arguments, **named))  # type: ignore[arg-type]

    return run


async def turns(count: int = 5) -> None:
    """Lets the loop go round."""
    for _ in range(count):
        await asyncio.sleep(0)


def with_large() -> Peer:
    """A server with an answer that does not fit into a window."""
    return Peer(Cluster(objects=[config_map("large", text=LARGE)]).state)


@on_loop
async def test_requests_are_answered_on_their_streams() -> None:
    """With the headers of HTTP/1.1 that have a meaning, and no others."""
    peer = Peer()
    first, second = peer.ask("/version"), peer.ask("/api/v1/nothing")
    created = peer.ask(CONFIG_MAPS, body=MAP, method="POST", content_type="application/json")
    await turns()
    assert [peer.status(number) for number in (first, second, created)] == [200, 404, 201]
    fields = peer.fields(peer.of(first, frames.HEADERS)[0].payload)
    assert fields["content-type"] == "application/json"
    assert int(fields["content-length"]) == len(peer.body(first))
    assert not {"connection", "transfer-encoding"} & set(fields)
    assert all(peer.ended(number) for number in (first, second, created))
    assert json.loads(peer.body(created))["metadata"]["name"] == "a"


@on_loop
async def test_a_head_request_has_no_body() -> None:
    """Its stream ends with the headers."""
    peer = Peer()
    number = peer.ask("/healthz", method="HEAD")
    assert peer.status(number) == 200
    assert peer.ended(number)
    assert not peer.body(number)


@on_loop
async def test_bytes_may_come_one_by_one() -> None:
    """Frames are put together again."""
    peer = Peer(greet=False)
    path = {":path": "/version"}
    for byte in frames.PREFACE + frames.settings({}) + frames.headers(1, block({**GET, **path}), end=True):
        peer.send(bytes([byte]))
    assert peer.status(1) == 200


@on_loop
async def test_headers_and_bodies_may_come_in_pieces() -> None:
    """With padding, priorities, continuations and trailers."""
    peer = Peer()
    fields = block({**GET, ":method": "POST", ":path": CONFIG_MAPS, "content-type": "application/json"})
    padded = frames.PADDED | frames.PRIORITIZED
    peer.send(frames.frame(frames.HEADERS, padded, 1, b"\x03" + bytes(5) + fields[:9] + bytes(3)))
    peer.send(frames.frame(frames.CONTINUATION, 0, 1, fields[9:20]))
    peer.send(frames.frame(frames.CONTINUATION, frames.END_HEADERS, 1, fields[20:]))
    peer.send(frames.frame(frames.PRIORITY, 0, 1, bytes(5)))
    peer.send(frames.frame(frames.DATA, frames.PADDED, 1, b"\x02" + MAP[:10] + bytes(2)))
    peer.send(frames.frame(frames.DATA, 0, 1, MAP[10:]))
    peer.send(frames.headers(1, block({"trailer": "x"}), end=True))
    await turns()
    assert peer.status(1) == 201


@on_loop
async def test_an_answer_waits_for_the_windows_of_the_client() -> None:
    """That of the stream and that of the connection; other answers pass it where only its stream is full."""
    peer = with_large()
    number = peer.ask(f"{CONFIG_MAPS}/large")
    assert len(peer.body(number)) == frames.DEFAULT_WINDOW
    assert peer.connection.paused
    waiting = peer.ask("/version")
    assert not peer.body(waiting)
    peer.send(frames.window_update(0, 1 << 20))
    assert peer.ended(waiting)
    assert not peer.ended(number)
    peer.send(frames.window_update(number, 10))
    assert len(peer.body(number)) == frames.DEFAULT_WINDOW + 10
    peer.send(frames.settings({frames.INITIAL_WINDOW_SIZE: 1 << 20}))
    assert peer.ended(number)
    assert json.loads(peer.body(number))["data"]["text"] == LARGE
    assert not peer.connection.paused


@on_loop
async def test_a_window_may_shrink_below_nothing() -> None:
    """Then nothing is sent until it has grown again."""
    peer = with_large()
    number = peer.ask(f"{CONFIG_MAPS}/large")
    peer.send(frames.settings({frames.INITIAL_WINDOW_SIZE: 0}) + frames.window_update(0, 1 << 20))
    peer.send(frames.window_update(number, frames.DEFAULT_WINDOW - 1))
    assert len(peer.body(number)) == frames.DEFAULT_WINDOW
    peer.send(frames.window_update(number, 1 << 20))
    assert peer.ended(number)


@on_loop
async def test_a_watch_is_a_stream() -> None:
    """Beside other requests; it ends when its client resets it."""
    peer = Peer()
    number = peer.ask(f"{CONFIG_MAPS}?watch=1")
    peer.ask(CONFIG_MAPS, body=MAP, method="POST")
    await turns()
    assert [json.loads(line)["type"] for line in peer.body(number).splitlines()] == ["ADDED"]
    assert not peer.ended(number)
    assert peer.server.watches == 1
    peer.send(frames.rst_stream(number, frames.CANCEL))
    assert peer.server.watches == 0
    assert peer.status(peer.ask("/version")) == 200


@on_loop
async def test_a_watch_that_is_not_read_keeps_its_events_for_later() -> None:
    """And sends them when the window grows."""
    peer = Peer()
    number = peer.ask(f"{CONFIG_MAPS}?watch=1")
    peer.send(frames.settings({frames.INITIAL_WINDOW_SIZE: 0}))
    for name in "abc":
        peer.ask(CONFIG_MAPS, body=json.dumps(config_map(name)).encode(), method="POST")
        await turns()
    shown = len(peer.body(number))
    peer.send(frames.window_update(number, 1 << 20))
    await turns()
    names = [json.loads(line)["object"]["metadata"]["name"] for line in peer.body(number).splitlines()]
    assert (shown, names) == (0, ["a", "b", "c"])


@on_loop
async def test_a_watch_that_times_out_ends_its_stream_only() -> None:
    """The connection stays."""
    peer = Peer()
    number = peer.ask(f"{CONFIG_MAPS}?watch=1")
    peer.server._hub.end_all(keep_alive=False)
    assert peer.ended(number)
    assert not peer.closed
    assert peer.status(peer.ask("/version")) == 200


@on_loop
async def test_a_body_that_is_too_long_is_refused() -> None:
    """The rest of it is not waited for, and does no harm."""
    peer = Peer()
    number = peer.ask(CONFIG_MAPS, body=b"x" * (3 * 1024 * 1024 + 20_000), method="POST", end=False)
    await peer.server._workers.finish()  # large bodies are handled in a thread
    await turns()
    assert peer.status(number) == 413
    assert frames.NO_ERROR in peer.resets(number)
    peer.data(number, b"more")
    assert peer.status(peer.ask("/version")) == 200


@on_loop
async def test_the_window_of_the_connection_is_refilled() -> None:
    """So that any number of bodies can be sent."""
    peer = Peer()
    for _ in range(20):
        peer.ask("/version", body=b"x" * (1 << 20))
    granted = sum(frames.number(frame.payload) for frame in peer.of(0, frames.WINDOW_UPDATE))
    assert granted >= 20 << 20
    assert peer.farewell is None


@on_loop
async def test_a_client_may_ask_whether_to_go_on() -> None:
    """It gets an answer before its body has come."""
    peer = Peer()
    number = peer.ask(CONFIG_MAPS, method="POST", end=False, expect="100-continue")
    assert peer.status(number) == 100
    peer.data(number, MAP)
    await turns()
    assert peer.status(number) == 201


@on_loop
async def test_too_many_requests_at_once_are_refused() -> None:
    """In a way that clients try again."""
    peer = Peer()
    watches = [peer.ask(f"{CONFIG_MAPS}?watch=1") for _ in range(connection_module.MOST_STREAMS)]
    refused = peer.ask("/version")
    assert peer.resets(refused) == [frames.REFUSED_STREAM]
    peer.send(frames.rst_stream(watches[0], frames.CANCEL))
    assert peer.status(peer.ask("/version")) == 200


@on_loop
async def test_a_client_that_gives_up_its_requests_all_the_time_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server works on them all the same, so there is a limit."""
    monkeypatch.setattr(Server, "serve", lambda *_: None)
    peer = Peer()
    for _ in range(connection_module.MOST_ABANDONED + 1):
        peer.send(frames.rst_stream(peer.ask("/version"), frames.CANCEL))
    assert peer.farewell == frames.ENHANCE_YOUR_CALM
    assert peer.closed


@on_loop
async def test_requests_that_were_given_up_do_not_count_when_they_are_answered() -> None:
    """Also for streams that have ended."""
    peer = Peer()
    for _ in range(2 * connection_module.MOST_ABANDONED):
        number = peer.ask(CONFIG_MAPS, body=MAP, method="POST")
        peer.send(frames.rst_stream(number, frames.CANCEL))
        await turns(1)
    assert peer.farewell is None


@on_loop
async def test_nothing_is_read_while_the_client_does_not_read() -> None:
    """And no request is served."""
    peer = Peer()
    peer.connection.pause_writing()
    assert not peer.reading
    number = peer.ask("/version")
    assert not peer.status(number)
    peer.connection.resume_writing()
    await turns()
    assert peer.status(number) == 200
    assert peer.reading


@on_loop
async def test_requests_wait_while_answers_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a client that only asks cannot fill the memory."""
    monkeypatch.setattr(connection_module, "_MOST_UNSENT", 150_000)
    peer = with_large()
    asked = [peer.ask(f"{CONFIG_MAPS}/large") for _ in range(8)]
    assert peer.connection.unread < 300_000
    peer.send(frames.settings({frames.INITIAL_WINDOW_SIZE: 1 << 20}) + frames.window_update(0, 1 << 24))
    await turns()
    assert all(peer.ended(number) for number in asked)


@on_loop
async def test_one_connection_cannot_hold_more_answers_than_all_clients_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its window is closed, and all its requests are under way before the first answer waits."""
    monkeypatch.setattr(clients_module, "UNREAD_LIMIT", 500_000)
    peer = with_large()
    peer.send(frames.settings({frames.INITIAL_WINDOW_SIZE: 0}))
    peer.ask(f"{CONFIG_MAPS}/large")
    assert not peer.aborted
    for _ in range(20):
        if not peer.aborted:
            peer.ask(f"{CONFIG_MAPS}/large")
    assert peer.aborted
    assert peer.connection.unread < 1_000_000


@on_loop
async def test_a_large_body_without_a_token_is_not_kept() -> None:
    """Its request is answered at once; that of a client with a token goes on."""
    peer = Peer(server=Server(Cluster().state, tokens=Tokens.parse(["u=secret"])))
    refused = peer.ask(CONFIG_MAPS, method="POST", end=False)
    known = peer.ask(CONFIG_MAPS, method="POST", end=False, authorization="Bearer secret")
    for number in (refused, known):
        for _ in range(10):
            if not peer.ended(number):
                peer.send(frames.frame(frames.DATA, 0, number, b"a" * 16_000))
        await turns()
    assert peer.status(refused) == 401
    assert peer.server.clients.kept == 160_000
    peer.send(frames.rst_stream(known, frames.CANCEL))
    assert peer.server.clients.kept == 0


@on_loop
async def test_a_flood_of_frames_that_ask_for_nothing_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep forgets those before."""
    monkeypatch.setattr(connection_module, "MOST_IDLE_FRAMES", 100)
    peer = Peer()
    for _ in range(3):
        peer.send(frames.frame(frames.PING, 0, 0, bytes(8)) * 90)
        peer.connection.expire(now=0.0, idle=90.0, request=60.0, linger=5.0)
    assert not peer.closed
    peer.send(frames.settings({}) * 101)
    assert peer.farewell == frames.ENHANCE_YOUR_CALM


@on_loop
async def test_empty_data_and_small_windows_ask_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "MOST_IDLE_FRAMES", 100)
    for flood in (frames.window_update(0, 1) * 101, frames.frame(frames.DATA, 0, 1, b"") * 101):
        peer = Peer()
        peer.ask(CONFIG_MAPS, method="POST", end=False)
        peer.send(frames.window_update(0, 65535) * 200)
        assert not peer.closed
        peer.send(flood)
        assert peer.farewell == frames.ENHANCE_YOUR_CALM


@on_loop
async def test_streams_that_keep_the_server_waiting_are_reset() -> None:
    """A body that does not come, and an answer that is not taken."""
    peer = with_large()
    slow, unread, watch = (
        peer.ask(CONFIG_MAPS, method="POST", end=False),
        peer.ask(f"{CONFIG_MAPS}/large"),
        peer.ask(f"{CONFIG_MAPS}?watch=1"),
    )
    later = asyncio.get_running_loop().time() + 61
    peer.connection.expire(now=later, idle=90.0, request=60.0, linger=5.0)
    assert peer.resets(slow) == peer.resets(unread) == [frames.CANCEL]
    assert not peer.resets(watch)
    assert not peer.closed


@on_loop
async def test_connections_that_say_nothing_are_ended() -> None:
    """Half a frame for a minute, or nothing at all for longer."""
    half, idle = Peer(), Peer()
    half.send(frames.frame(frames.PING, 0, 0, bytes(8))[:5])
    later = asyncio.get_running_loop().time() + 61
    for peer in (half, idle):
        peer.connection.expire(now=later, idle=90.0, request=60.0, linger=5.0)
    assert (half.aborted, idle.closed) == (True, False)
    idle.connection.expire(now=later + 30, idle=90.0, request=60.0, linger=5.0)
    assert idle.farewell == frames.NO_ERROR
    assert idle.closed


@on_loop
async def test_the_end_is_announced_and_requests_under_way_are_answered() -> None:
    """Later ones are not looked at."""
    peer = with_large()
    number = peer.ask(f"{CONFIG_MAPS}/large")
    peer.connection.close()
    assert peer.farewell == frames.NO_ERROR
    later = peer.ask("/version")
    assert not peer.status(later)
    assert not peer.closed
    peer.send(frames.window_update(0, 1 << 20) + frames.window_update(number, 1 << 20))
    await turns()
    assert peer.ended(number)
    assert peer.closed


def field(**changes: str | None) -> bytes:
    """A request for the version with other fields."""
    named = {name.replace("_", ":", 1) if name.startswith("_") else name: v for name, v in changes.items()}
    fields = {**GET, ":path": "/version", **named}
    return frames.headers(1, block({name: value for name, value in fields.items() if value is not None}), end=True)


@pytest.mark.parametrize(
    "data",
    [
        field(_method=None),
        field(_path=None),
        field(_path=""),
        field(_path="version"),
        field(_path="/%zz"),
        field(_scheme="ftp"),
        field(_other="x"),
        field(Upper="x"),
        field(**{"a b": "x"}),
        field(text="a\r\nb"),
        frames.headers(1, block({"x": "y", **GET, ":path": "/version"}), end=True),
        field(**{"content-length": "5"}),
        field(**{"content-length": "-1"}),
        frames.headers(1, block({**GET, ":path": "/"}), end=False) + frames.window_update(1, 0),
        frames.headers(1, block({**GET, ":path": "/"}), end=False) + frames.headers(1, block({"t": "x"}), end=False),
    ],
)
@on_loop
async def test_requests_that_are_malformed_are_reset(data: bytes) -> None:
    """The connection stays."""
    peer = Peer()
    peer.send(data)
    assert peer.resets(1) == [frames.PROTOCOL_ERROR]
    peer._next = 3
    assert peer.status(peer.ask("/version")) == 200


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"connection": "close"}, 400), ({"te": "gzip"}, 400), ({"upgrade": "x"}, 400), ({"_method": "CONNECT"}, 405)],
)
@on_loop
async def test_what_belongs_to_another_protocol_is_refused(changes: dict[str, str], code: int) -> None:
    """As Go's server refuses it."""
    peer = Peer()
    peer.send(field(**changes))
    assert peer.status(1) == code
    assert peer.ended(1)


OPEN = frames.headers(1, block({**GET, ":path": "/"}), end=False)
DONE = frames.headers(1, block({**GET, ":path": "/version"}), end=True)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frames.frame(frames.DATA, 0, 0, b"x"), frames.PROTOCOL_ERROR),
        (frames.frame(frames.DATA, 0, 1, b"x"), frames.PROTOCOL_ERROR),
        (frames.frame(frames.HEADERS, frames.END_HEADERS, 2, block(GET)), frames.PROTOCOL_ERROR),
        (frames.frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xff"), frames.COMPRESSION_ERROR),
        (frames.frame(frames.HEADERS, frames.PADDED | frames.END_HEADERS, 1, b"\x09x"), frames.PROTOCOL_ERROR),
        (frames.frame(frames.HEADERS, 0, 1, b"") + frames.frame(frames.PING, 0, 0, bytes(8)), frames.PROTOCOL_ERROR),
        (frames.frame(frames.HEADERS, 0, 1, b"") + frames.frame(frames.CONTINUATION, 4, 3), frames.PROTOCOL_ERROR),
        (frames.frame(frames.HEADERS, 0, 1, b"") + frames.frame(frames.CONTINUATION, 0, 1), frames.PROTOCOL_ERROR),
        (frames.frame(frames.CONTINUATION, 4, 1), frames.PROTOCOL_ERROR),
        (frames.frame(frames.PRIORITY, 0, 0, bytes(5)), frames.PROTOCOL_ERROR),
        (frames.frame(frames.RST_STREAM, 0, 1, bytes(4)), frames.PROTOCOL_ERROR),
        (OPEN + frames.frame(frames.RST_STREAM, 0, 1, bytes(3)), frames.FRAME_SIZE_ERROR),
        (frames.frame(frames.SETTINGS, 0, 1), frames.PROTOCOL_ERROR),
        (frames.frame(frames.SETTINGS, 0, 0, bytes(5)), frames.FRAME_SIZE_ERROR),
        (frames.frame(frames.SETTINGS, frames.ACK, 0, bytes(6)), frames.PROTOCOL_ERROR),
        (frames.settings({frames.ENABLE_PUSH: 2}), frames.PROTOCOL_ERROR),
        (frames.settings({frames.MAX_FRAME_SIZE: 1}), frames.PROTOCOL_ERROR),
        (frames.settings({frames.INITIAL_WINDOW_SIZE: 1 << 31}), frames.FLOW_CONTROL_ERROR),
        (OPEN + frames.settings({frames.INITIAL_WINDOW_SIZE: (1 << 31) - 1}) + frames.window_update(1, 9), None),
        (frames.frame(frames.PUSH_PROMISE, 4, 1, bytes(4)), frames.PROTOCOL_ERROR),
        (frames.frame(frames.PING, 0, 1, bytes(8)), frames.PROTOCOL_ERROR),
        (frames.frame(frames.PING, 0, 0, bytes(7)), frames.FRAME_SIZE_ERROR),
        (frames.frame(frames.GOAWAY, 0, 1, bytes(8)), frames.PROTOCOL_ERROR),
        (frames.window_update(0, 0), frames.PROTOCOL_ERROR),
        (frames.window_update(0, (1 << 31) - 1), frames.FLOW_CONTROL_ERROR),
        (frames.window_update(1, 1), frames.PROTOCOL_ERROR),
        (b"\x00\x40\x01" + bytes(6), frames.FRAME_SIZE_ERROR),
        (DONE + frames.headers(1, block({"t": "x"}), end=True), frames.STREAM_CLOSED),
    ],
)
@on_loop
async def test_mistakes_about_the_connection_end_it(data: bytes, code: int | None) -> None:
    """With the code that the protocol has for them; other clients notice nothing."""
    peer = Peer()
    peer.send(data)
    await turns(2)
    assert peer.farewell == code
    assert peer.closed == (code is not None)
    assert peer.server.connections == (0 if peer.closed else 1)


@on_loop
async def test_a_client_that_speaks_something_else_is_hung_up_on() -> None:
    """As soon as that shows."""
    peer = Peer(greet=False)
    peer.send(b"GET / HTTP/1.1\r\n\r\n")
    assert peer.closed


@pytest.mark.parametrize("count", [1001, 64])
@on_loop
async def test_heads_that_are_too_large_are_refused(count: int) -> None:
    """By number, and by size after decoding."""
    peer = Peer()
    value = "x" * (1 if count > 1000 else 20_000)
    data = block({**GET, ":path": "/version", **{f"h{index}": value for index in range(count)}})
    peer.send(frames.headers(1, data, end=True))
    assert peer.farewell == frames.ENHANCE_YOUR_CALM
    assert peer.status(1) == (431 if count > 1000 else 0)


@on_loop
async def test_pings_are_answered_and_unknown_frames_ignored() -> None:
    """As the protocol wants."""
    peer = Peer()
    peer.send(frames.frame(0x42, 0xFF, 7, b"whatever") + frames.frame(frames.PING, 0, 0, b"12345678"))
    assert [frame.payload for frame in peer.of(0, frames.PING)] == [b"12345678"]


_FRAMES = st.builds(
    frames.frame,
    st.integers(0, 10),
    st.sampled_from([0, 1, 4, 5, 8, 0x2D, 0xFF]),
    st.sampled_from([0, 1, 1, 2, 3, 5, 7]),
    st.one_of(
        st.binary(max_size=40),
        st.just(block({**GET, ":path": f"{CONFIG_MAPS}?watch=1"})),
        st.just(block({**GET, ":path": f"{CONFIG_MAPS}/large"})),
        st.just(block({**GET, ":method": "POST", ":path": CONFIG_MAPS})),
        st.just(MAP),
        st.integers(0, 1 << 20).map(lambda value: value.to_bytes(4, "big")),
    ),
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(_FRAMES, st.binary(max_size=30)), max_size=12), st.integers(1, 50))
def test_no_frames_take_the_server_down(sent: list[bytes], size: int) -> None:
    """Nothing is raised but what ends a connection, and the next client is served."""
    state = Cluster(objects=[config_map("large", text=LARGE)]).state

    async def run() -> None:
        peer = Peer(state)
        data = b"".join(sent)
        for start in range(0, len(data), size):
            peer.send(data[start : start + size])
        await turns(2)
        assert peer.farewell != frames.INTERNAL_ERROR
        other = Peer(server=peer.server)
        assert other.status(other.ask("/version")) == 200
        peer.connection.expire(now=1e12, idle=90.0, request=60.0, linger=5.0)
        peer.close()
        assert peer.server.watches == 0
        assert peer.connection.unread == 0

    asyncio.run(run())


def test_a_frame_is_not_padded_beyond_its_end() -> None:
    """Wherever the padding is."""
    with pytest.raises(ConnectionFault):
        frames.content(frames.Frame(frames.DATA, frames.PADDED, 1, b""))
