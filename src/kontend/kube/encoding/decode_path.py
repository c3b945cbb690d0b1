"""The position of a decoding in its object, and its errors so far.

Errors name places in two ways: a mismatch names the innermost struct and the way to the field
through embedded structs but without list indexes and map keys, while an unknown field is named with indexes and keys
but without embedded structs.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from kontend.kube.errors import BadRequest

#: A chain of fields, list indexes and map keys, innermost first.
At: TypeAlias = "tuple[At, Step | int | str] | None"


class DecodeError(BadRequest):
    """A body that does not fit the Go type; the message is the decoder's own."""


class Step:
    """A field of a struct, as part of the way to a place."""

    __slots__ = ("name", "names", "owner")

    def __init__(self, name: str, names: tuple[str, ...], owner: str) -> None:
        self.name = name
        #: The embedded structs it sits in, and itself.
        self.names = names
        #: The struct it belongs to.
        self.owner = owner


class DecodingErrors:
    """The errors of one decoding so far."""

    __slots__ = ("error", "unknown")

    def __init__(self) -> None:
        self.error: str | None = None
        self.unknown: list[str] = []

    def mismatch(self, value: Any, go_name: str, at: At, *, literal: bool = False) -> None:
        """Note that a value does not fit, unless something did not fit before."""
        if self.error is None:
            self.error = cannot_unmarshal(json_kind(value, literal=literal), go_name, at)


def json_kind(value: Any, *, literal: bool = False) -> str:
    """Return a value's type as Go's JSON package calls it; with ``literal``, a number is shown as well."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {value}" if literal else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def cannot_unmarshal(value: str, go_name: str, at: At) -> str:
    """Return the message for a mismatch: the struct is the innermost one, the path leaves out indexes and keys."""
    struct = ""
    names: list[str] = []
    while at is not None:
        at, step = at
        if isinstance(step, Step):
            struct = struct or step.owner
            names.extend(reversed(step.names))
    if not struct:
        return f"json: cannot unmarshal {value} into Go value of type {go_name}"
    return f"json: cannot unmarshal {value} into Go struct field {struct}.{'.'.join(reversed(names))} of type {go_name}"


def unknown_path(at: At, last: str) -> str:
    """Return the path of an unknown field, as strict decoding writes it."""
    parts = ["." + last]
    while at is not None:
        at, step = at
        parts.append(f"[{step}]" if isinstance(step, int) else "." + (step if isinstance(step, str) else step.name))
    return "".join(reversed(parts)).removeprefix(".")
