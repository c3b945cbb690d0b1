"""Go's messages about addresses."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.golang.netip import address_complaint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1.2.3.4", ""),
        ("::1", ""),
        ("::", ""),
        ("1:2:3:4:5:6:1.2.3.4", ""),
        ("fe80::1%eth0", ""),
        ("", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("::1%", "zone must be a non-empty string"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("1.x", 'unexpected character (at "x")'),
        ("http:/", 'each colon-separated field must have at least one digit (at "http:/")'),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("1:2x", 'unexpected character, want colon (at "x")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("1:2", "address string too short"),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:3:4:5:6:7:8::", "the :: must expand to at least one field of zeros"),
        ("1:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
    ],
)
def test_complaints_are_those_of_go(text: str, complaint: str) -> None:
    assert address_complaint(text) == complaint


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.text("0123af:.", max_size=20))
def test_an_address_of_python_is_one_of_go(text: str) -> None:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        assert address_complaint(text)
    else:
        assert address_complaint(text) == ""
