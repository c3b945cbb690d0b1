"""The types that are not what they look like: quantities, times, and JSON inside protobuf.

Each is a small message on the wire and something simpler in JSON. These functions make that simpler thing of the bytes
between two positions.
"""

from __future__ import annotations

import base64
import struct
from datetime import datetime, timedelta
from typing import Any, Final

from kontend.kube.encoding.json_text import MalformedJSON, parse_json
from kontend.kube.golang.time import format_duration
from kontend.serve.protobuf.message import Message, Value, int32, int64, number, one, repeated, text
from kontend.serve.protobuf.wire import BYTES, Malformed

_EPOCH: Final = datetime(1970, 1, 1)


def bytes_value(data: bytes, pos: int, stop: int) -> str:
    """Bytes are base64 in JSON."""
    return base64.b64encode(data[pos:stop]).decode()


def double(data: bytes, pos: int, _stop: int) -> float:
    """Return a floating point number; JSON has none that are not finite."""
    number: float = struct.unpack_from("<d", data, pos)[0]
    if number - number != 0:
        raise Malformed(f"json: unsupported value: {'NaN' if number != number else '+Inf' if number > 0 else '-Inf'}")
    return number


_QUANTITY: Final = Message("Quantity", lambda message: message.add(1, "String_", {BYTES: "text"}))


def _quantity(data: bytes, pos: int, stop: int) -> str:
    quantity: str = _QUANTITY.value(data, pos, stop).get("text", "0")
    return quantity


def _describe_int_or_string(message: Message) -> None:
    message.add(1, "Type", number("type", int64))
    message.add(2, "IntVal", number("int", int32))
    message.add(3, "StrVal", {BYTES: "text"})


_INT_OR_STRING: Final = Message("IntOrString", _describe_int_or_string)


def _int_or_string(data: bytes, pos: int, stop: int) -> int | str:
    decoded = _INT_OR_STRING.value(data, pos, stop)
    kind = decoded.get("type", 0)
    if kind not in (0, 1):
        raise Malformed("impossible IntOrString.Type")
    value: int | str = decoded.get("text", "") if kind else decoded.get("int", 0)
    return value


def _describe_timestamp(message: Message) -> None:
    message.add(1, "Seconds", number("seconds", int64))
    message.add(2, "Nanos", number("nanos", int32))


_TIMESTAMP: Final = Message("Timestamp", _describe_timestamp)


def _moment(data: bytes, pos: int, stop: int, *, micros: bool) -> str | None:
    if pos == stop:
        return None
    decoded = _TIMESTAMP.value(data, pos, stop)
    # Nanoseconds are cut off towards zero, and a time in whole seconds does not look at them: so does the server.
    fraction = int(decoded.get("nanos", 0) / 1000) if micros else 0
    try:
        moment = _EPOCH + timedelta(seconds=decoded.get("seconds", 0), microseconds=fraction)
    except OverflowError:
        raise Malformed("Time.MarshalJSON: year outside of range [0,9999]") from None
    return moment.isoformat(timespec="microseconds" if micros else "seconds") + "Z"


def _time(data: bytes, pos: int, stop: int) -> str | None:
    return _moment(data, pos, stop, micros=False)


def _micro_time(data: bytes, pos: int, stop: int) -> str | None:
    return _moment(data, pos, stop, micros=True)


_DURATION: Final = Message("Duration", lambda message: message.add(1, "Duration", number("nanoseconds", int64)))


def _duration(data: bytes, pos: int, stop: int) -> str:
    return format_duration(_DURATION.value(data, pos, stop).get("nanoseconds", 0))


_EXTRA: Final = Message("ExtraValue", lambda message: message.add(1, "Items", {BYTES: repeated("items", text)}))


def _extra(data: bytes, pos: int, stop: int) -> list[str]:
    """Return a list that has a name of its own in Go is a message around that list."""
    items: list[str] = _EXTRA.value(data, pos, stop).get("items", [])
    return items


def _raw_json(go_name: str) -> Value:
    message = Message(go_name, lambda message: message.add(1, "Raw", {BYTES: one("raw", lambda d, p, s: d[p:s])}))

    def value(data: bytes, pos: int, stop: int) -> Any:
        raw = message.value(data, pos, stop).get("raw", b"")
        try:
            return parse_json(raw)[0] if raw else None
        except MalformedJSON as error:
            raise Malformed(f"json: error calling MarshalJSON for type {go_name}: {error.message}") from None

    return value


#: By the name of the Go type.
VALUES: Final[dict[str, Value]] = {
    "[]byte": bytes_value,
    "string": text,
    "Duration": _duration,
    "ExtraValue": _extra,
    "FieldsV1": _raw_json("*v1.FieldsV1"),
    "IntOrString": _int_or_string,
    "JSON": _raw_json("v1.JSON"),
    "MicroTime": _micro_time,
    "Quantity": _quantity,
    "RawExtension": _raw_json("runtime.RawExtension"),
    "Time": _time,
}
