"""Values in error messages, formatted as Go formats them."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.kube.field_errors import go_json


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [2.0, 0.5, True, None]}, '{"a":[2,0.5,true,null],"b":1}'),
        ([2.0**63, 2.0**64, 2.0**64 - 2048], "[9223372036854776000,18446744073709552000,18446744073709550000]"),
        ([1e20, 1e21, -1e21, 1.5e300], "[100000000000000000000,1e+21,-1e+21,1.5e+300]"),
        ([1e-6, 1.5e-7, 0.0, -0.0], "[0.000001,1.5e-7,0,-0]"),
        ({"k": "<a&b> 1e21 .0"}, '{"k":"\\u003ca\\u0026b\\u003e 1e21 .0"}'),
    ],
)
def test_json_is_written_as_go_writes_it(value: Any, text: str) -> None:
    assert go_json(value) == text
