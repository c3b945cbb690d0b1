"""URLs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.golang.url import UrlError, parse_request_uri


def test_a_url_falls_into_its_parts() -> None:
    url = parse_request_uri("HTTPS://user@[::1]:80/a%20b?c=d")
    assert (url.scheme, url.host, url.hostname, url.port, url.path, url.query) == (
        "https",
        "[::1]:80",
        "::1",
        "80",
        "/a b",
        "c=d",
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "empty url"),
        ("p", "invalid URI for request"),
        (":x", "missing protocol scheme"),
        ("http://a:x/", 'invalid port ":x" after host'),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://[::1/", "missing ']' in host"),
        ("/%zz", 'invalid URL escape "%zz"'),
        ("/a\nb", "net/url: invalid control character in URL"),
    ],
)
def test_what_is_no_url_is_refused_in_the_words_of_go(text: str, complaint: str) -> None:
    with pytest.raises(UrlError) as refused:
        parse_request_uri(text)
    assert str(refused.value).endswith(f": {complaint}")


@given(st.text(alphabet="ahtps:/?#[]@%.0 é\x00", max_size=15))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_any_text_is_a_url_or_refused(text: str) -> None:
    said = ""
    try:
        parse_request_uri(text)
    except UrlError as error:
        said = str(error)
    assert said == "" or said.startswith("parse ")
