"""The JSONPath of printer columns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.printing.json_path import BadPath, find

DATA = {
    "a": {"b.c": 1, "d": [10, 20, 30], "e": [{"k": "x", "v": 1}, {"k": "y", "v": 2.5}, {"v": 3}]},
    "z": [{"a": {"b.c": 4}}],
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".a.d[0]", [10]),
        ("$.a.d[-1]", [30]),
        (".a.d[7]", []),
        (".a.d[1:]", [20, 30]),
        (".a.d[0:3:2]", [10, 30]),
        (".a.d[*]", [10, 20, 30]),
        (".a.d", [[10, 20, 30]]),
        (r".a.b\.c", [1]),
        (r".a['b\.c']", [1]),
        (".a['b.c']", []),
        (".a.d[]", [10]),
        (".a.d[0,2]", [10, 30]),
        (".a['d','b\\.c']", [[10, 20, 30], 1]),
        (".a.d[:2]", [10, 20]),
        (".a.d[-2:]", [20, 30]),
        (".a.d[1:1]", []),
        (".a.d[0:9]", []),
        (".a.d[?(@>15)]", [20, 30]),
        (".a[0]", []),
        ('.a.e[?(@.k=="x")].v', [1]),
        (".a.e[?(@.k=='y')].v", [2.5]),
        (".a.e[?(@.v>=2)].v", []),
        (".a.e[?(@.v!=2.5)].v", []),
        (".a.d[?(@>=20)]", [20, 30]),
        ('.a.e[?(.k == "x" )].v', [1]),
        ("..d", [[10, 20, 30]]),
        (".a.e[?(@.k!='x')].v", [2.5]),
        (".a.e[?(@.k)].v", [1, 2.5]),
        ("..d[0]", [10]),
        (r"..b\.c", [1, 4]),
        (".nope.deep", []),
        (".a.d.x", []),
        ("", [DATA]),
    ],
)
def test_a_path_leads_to_what_it_names(path: str, values: list[Any]) -> None:
    assert find(path, DATA) == values


@pytest.mark.parametrize(
    "path", [".a[", '.a["b"]', ".a[x]", ".a[?(@.b==1", ".a[?(@.b)", "(b)", "....a", ".a[-]", "'x", "1.2.3"]
)
def test_a_bad_path_is_refused(path: str) -> None:
    with pytest.raises(BadPath):
        find(path, DATA)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.text(".[]*?()@='\"\\ab0:-<,", max_size=12))
def test_garbage_is_a_bad_path_or_finds_something_or_nothing(path: str) -> None:
    try:
        assert isinstance(find(path, DATA), list)
    except BadPath:
        return
