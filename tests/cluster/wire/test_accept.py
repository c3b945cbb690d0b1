"""The ``Accept`` header."""

import pytest

from kontend.cluster.wire.accept import parse_accept


@pytest.mark.parametrize(
    ("accept", "types"),
    [
        ("", []),
        ("application/json", ["application/json"]),
        ("Application/JSON ; q=0.5 , text/html", ["text/html", "application/json"]),
        ("a/a;q=0.1, b/b;q=x, c/c;q=0.9", ["b/b", "c/c", "a/a"]),
        ("a/a, b/b", ["a/a", "b/b"]),
        (",;q=1,", []),
    ],
)
def test_media_types_come_in_the_order_of_preference(accept: str, types: list[str]) -> None:
    assert [media.type for media in parse_accept(accept)] == types


def test_parameters_are_kept_by_name() -> None:
    (media,) = parse_accept("application/json; as=Table ;v=v1;g=meta.k8s.io;broken")
    assert media.parameters == {"as": "Table", "v": "v1", "g": "meta.k8s.io"}
