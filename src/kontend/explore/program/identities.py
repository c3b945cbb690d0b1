"""Identities that the explorer hands out: uids, the suffixes of generated names, uuids, and versions.

Real ones are random. These depend only on what they are for (the kind and name of an object, the controller and request
of a reconcile) and on how many were handed out for that before. So they do not depend on the order of independent
steps, and none is ever handed out twice: code may cut, hash or compare them as it likes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import xxhash

from kontend.cluster.state import uid_of
from kontend.explore.problems import BadScenario

#: The uids that the server hands out, and the uuids that reconciles generate.
IDENTITIES: Final = re.compile(rb"[0-9a-f]{8}-0000-4000-(?:8000|b000)-[0-9a-f]{12}")
#: uuids that are made from a name (versions 3 and 5), such as the id of a task from that of its plan. A run with
#: another generated uuid has others of these. The text does not show from which name one is made: no value counts.
DERIVED_UUIDS: Final = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[35][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
#: resourceVersions are counted from here, so that one that user code has stored can be recognised.
FIRST_VERSION: Final = 7_000_000_000_000_000
VERSIONS: Final = re.compile(rb"70000000\d{8}")
#: Times in objects and in memory.
TIMES: Final = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
#: The largest number that a serial is made from.
_SERIALS: Final = 0xFFF_FFFF_FFFF
#: Ends names whose identities have the opposite order; and stands in those of further choices.
_OPPOSITE: Final = "\1"
_FURTHER: Final = "\2"
#: Numbers of uuids are counted from here for the first choice after the ordinary one, from twice that for the next.
_UUIDS_OF_A_CHOICE: Final = 1 << 32
_COMPLEMENT: Final = str.maketrans("0123456789abcdef", "fedcba9876543210")
#: Serials that one request to the server may use.
_STRIDE: Final = 16
#: The objects that have got a serial, to see that no two get the same; and how many are kept.
_HOLDERS: Final[dict[int, tuple[str, str, int]]] = {}
_MOST_HOLDERS: Final = 1_000_000


@lru_cache(maxsize=100_000)
def first_serial(resource: str, name: str, count: int) -> int:
    """The serial from which the server counts uids and suffixes for the ``count``-th object of a name.

    It is a hash of 44 bits: uids have room for 48. Two objects with the same one are refused, however unlikely. The
    name may say which of several choices is meant (:func:`chosen`).
    """
    subject = (resource, name, count)
    bare = name.removesuffix(_OPPOSITE)
    digest = xxhash.xxh3_64_intdigest(f"{resource}\0{bare}\0{count}".encode()) & _SERIALS
    serial = (digest if name == bare else _SERIALS - digest) * _STRIDE
    if len(_HOLDERS) >= _MOST_HOLDERS:
        _HOLDERS.clear()
    holder = _HOLDERS.setdefault(serial, subject)
    if holder != subject:
        one, other = (f"{kind} {key}" for kind, key, _ in (holder, subject))
        raise BadScenario(f"{one} and {other} would get the same uid; give one of them another name")
    return serial


def chosen(name: str, choice: int) -> str:
    """The name for which identities are made, by the number of the choice: 1 has the opposite order of 0."""
    return name + ("" if not choice else _OPPOSITE if choice == 1 else _FURTHER * choice)


def first_uuid(choice: int) -> int:
    """The number from which generated uuids are counted."""
    return choice * _UUIDS_OF_A_CHOICE


@lru_cache(maxsize=100_000)
def generated_uuid(label: str, number: int) -> str:
    """The uuid that is generated as number ``number`` for a controller and a request."""
    choice, number = divmod(number, _UUIDS_OF_A_CHOICE)
    digest = xxhash.xxh3_128_hexdigest(f"{chosen(label, choice if choice > 1 else 0)}\0{number}".encode())
    if choice == 1:
        digest = digest.translate(_COMPLEMENT)
    return f"{digest[:8]}-0000-4000-b000-{digest[8:20]}"


#: Labels of uuids start so; other labels name a kind and an object.
UUIDS: Final = "uuid\0"
#: Labels of clocks start so: what is counted are seconds.
CLOCK: Final = "clock\0"
#: The most serials that one request to the server uses for what it makes.
USED: Final = 4


def issued_identities(issued: Iterable[tuple[str, int]]) -> Iterator[str]:
    """The uids and uuids that were handed out, given how many for each label."""
    for label, count in issued:
        if label.startswith(CLOCK):
            continue
        for number in range(count - count % _UUIDS_OF_A_CHOICE, count):
            if label.startswith(UUIDS):
                yield generated_uuid(label.removeprefix(UUIDS), number)
            else:
                resource, _, name = label.partition("\0")
                first = first_serial(resource, name, number)
                yield from map(uid_of, range(first + 1, first + USED))
