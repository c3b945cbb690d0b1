"""Rules for names, in the server's words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kontend.kube.meta import name_rules as rules


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (rules.dns1123_label, ["a", "0", "a--1", "x" * 63], ["", "A", "-a", "a-", "a.b", "a_b", "x" * 64, "a\n"]),
        (rules.dns1123_subdomain, ["a", "a.b", "1.2-3", "x" * 253], ["", ".", "a..b", "A.b", "a.-b", "x" * 254, "ü"]),
        (rules.dns1123_subdomain_with_underscore, ["_a.b", "a_b"], ["a_", "A", "", "__a"]),
        (rules.wildcard_dns1123_subdomain, ["*.a", "*.a.b"], ["*", "a.b", "*.*.a", "*a.b"]),
        (rules.dns1035_label, ["a", "a-1"], ["1a", "", "a-", "a.b", "x" * 64]),
        (rules.path_segment, ["a", "A b", "...", ""], [".", "..", "a/b", "a%b"]),
        (rules.path_segment_prefix, [".", "..", "a-"], ["a/", "%"]),
        (
            rules.qualified_name,
            ["a", "A.b_c-d", "a.io/B", "x" * 63],
            ["", "a/", "/a", "a/b/c", "-a", "A.io/b", "x" * 64],
        ),
        (rules.label_value, ["", "a", "A.b_c-1", "x" * 63], ["-a", "a-", "a b", "x" * 64, "é"]),
        (rules.config_map_key, ["a.b", "A_b-c", "...."[:1] + "a"], ["", ".", "..", "..a", "a/b", "x" * 254]),
        (rules.env_var_name, ["A", "a b", "1"], ["", "a=b", "é", "\t"]),
        (rules.c_identifier, ["_a1"], ["1a", "", "a-b"]),
        (rules.port_name, ["http", "a-1"], ["", "1", "a--b", "-a", "a-", "A", "x" * 16]),
        (rules.percent, ["0%", "120%"], ["%", "1", "-1%", "1.5%"]),
        (rules.http_header_name, ["X-a1"], ["", "a b"]),
    ],
)
def test_a_rule_lets_the_good_pass_and_stops_the_bad(
    rule: Callable[[str], list[str]], good: list[str], bad: list[str]
) -> None:
    assert {text: rule(text) for text in good if rule(text)} == {}
    assert [text for text in bad if not rule(text)] == []


def test_messages_are_the_servers() -> None:
    assert rules.dns1123_subdomain("Upper") == [
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    ]
    assert rules.qualified_name("a b") == [
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
        "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    ]
    assert rules.label_value("a b") == [
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
        "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    ]


def test_the_old_rules_count_characters_and_those_of_labels_bytes() -> None:
    assert rules.dns1123_subdomain("a" * 254) == ["must be no more than 253 characters"]
    assert rules.label_value("a" * 64) == ["must be no more than 63 bytes"]
    assert rules.qualified_name("a" * 64) == ["name part must be no more than 63 bytes"]
    assert rules.qualified_name("a" * 254 + "/b") == ["prefix part must be no more than 253 bytes"]


def test_an_empty_name_part_has_two_complaints() -> None:
    assert [message[:27] for message in rules.qualified_name("a/")] == [
        "name part must be non-empty",
        "name part must consist of a",
    ]


def test_ports_are_numbers_up_to_65535() -> None:
    assert rules.port_number(80) == []
    assert rules.port_number(0) == rules.port_number(65536) == ["must be between 1 and 65535, inclusive"]


def test_a_generated_names_dash_is_forgiven() -> None:
    assert rules.dns1123_subdomain(rules.without_trailing_dash("web-")) == []
    assert rules.dns1123_subdomain(rules.without_trailing_dash("-")) != []
