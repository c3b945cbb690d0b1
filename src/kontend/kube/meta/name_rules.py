"""The rules that names, labels and keys obey: each takes a text and returns the server's messages about it.

An empty list means that the text is fine. Lengths are counted in bytes. The server has two vocabularies, an older one
that says "characters" and the newer one of labels that says "bytes"; both are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_UNDERSCORE: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_UNDERSCORE: Final = rf"{_LABEL_UNDERSCORE}(\.{_LABEL_UNDERSCORE})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD: Final = rf"\*\.{_SUBDOMAIN}"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_QUALIFIED})?"
_C_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_PERCENT: Final = "[0-9]+%"
_HTTP_HEADER: Final = "[-A-Za-z0-9]+"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"

_LABEL_RE: Final = re.compile(_LABEL)
_SUBDOMAIN_RE: Final = re.compile(_SUBDOMAIN)
_SUBDOMAIN_UNDERSCORE_RE: Final = re.compile(_SUBDOMAIN_UNDERSCORE)
_LABEL_1035_RE: Final = re.compile(_LABEL_1035)
_WILDCARD_RE: Final = re.compile(_WILDCARD)
_QUALIFIED_RE: Final = re.compile(_QUALIFIED)
_LABEL_VALUE_RE: Final = re.compile(_LABEL_VALUE)
_C_IDENTIFIER_RE: Final = re.compile(_C_IDENTIFIER)
_PERCENT_RE: Final = re.compile(_PERCENT)
_HTTP_HEADER_RE: Final = re.compile(_HTTP_HEADER)
_CONFIG_KEY_RE: Final = re.compile(_CONFIG_KEY)
_PORT_NAME_RE: Final = re.compile("[-a-z0-9]+")

_ENDS: Final = "and must start and end with an alphanumeric character"
_QUALIFIED_SAYS: Final = f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"


def regex_message(rule: str, pattern: str, examples: Iterable[str] = ()) -> str:
    """Return a complaint that shows the pattern, commas as the server puts them.

    >>> regex_message("must be a", "a+", ["a", "aa"])
    "must be a (e.g. 'a',  or 'aa', regex used for validation is 'a+')"
    """
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} ({f'e.g. {shown}' if shown else ''}regex used for validation is '{pattern}')"


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _too_long(text: str, most: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {most} {unit}"] if _size(text) > most else []


def dns1123_label(text: str) -> list[str]:
    """Return a name of one part, such as a namespace's: lower case, digits and dashes.

    >>> dns1123_label("web-1"), dns1123_label("a.b")
    ([], ['must not contain dots'])
    """
    errors = _too_long(text, 63)
    if not _LABEL_RE.fullmatch(text):
        if _SUBDOMAIN_RE.fullmatch(text):
            errors.append("must not contain dots")
        else:
            rule = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
            errors.append(regex_message(rule, _LABEL, ["my-name", "123-abc"]))
    return errors


def dns1123_subdomain(text: str) -> list[str]:
    """Return the usual rule for names of objects: labels joined by dots."""
    return _subdomain(text, "characters")


def _subdomain(text: str, unit: str) -> list[str]:
    errors = _too_long(text, 253, unit)
    if not _SUBDOMAIN_RE.fullmatch(text):
        rule = f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
        errors.append(regex_message(rule, _SUBDOMAIN, ["example.com"]))
    return errors


def dns1123_subdomain_with_underscore(text: str) -> list[str]:
    """As :func:`dns1123_subdomain`, with underscores."""
    errors = _too_long(text, 253)
    if not _SUBDOMAIN_UNDERSCORE_RE.fullmatch(text):
        rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
        errors.append(regex_message(rule + _ENDS, _SUBDOMAIN_UNDERSCORE, ["example.com"]))
    return errors


def wildcard_dns1123_subdomain(text: str) -> list[str]:
    """Return a subdomain after ``*.``, as hosts of an Ingress may be."""
    errors = _too_long(text, 253)
    if not _WILDCARD_RE.fullmatch(text):
        rule = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist "
            "of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
        )
        errors.append(regex_message(rule, _WILDCARD, ["*.example.com"]))
    return errors


def dns1035_label(text: str) -> list[str]:
    """Return the rule for names of services: a label that starts with a letter."""
    errors = _too_long(text, 63)
    if not _LABEL_1035_RE.fullmatch(text):
        rule = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
            "start with an alphabetic character, and end with an alphanumeric character"
        )
        errors.append(regex_message(rule, _LABEL_1035, ["my-name", "abc-123"]))
    return errors


def path_segment(text: str) -> list[str]:
    """Check the rules of every name that stands in a path.

    >>> path_segment("a/b%"), path_segment("..")
    (["may not contain '/'", "may not contain '%'"], ["may not be '..'"])
    """
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return path_segment_prefix(text)


def path_segment_prefix(text: str) -> list[str]:
    """Return the same for the beginning of a name, to which more will be added."""
    return [f"may not contain '{part}'" for part in "/%" if part in text]


def qualified_name(text: str) -> list[str]:
    """Return the rule for keys of labels and annotations, and for finalizers: a name, with or without a domain before
    it.

    >>> qualified_name("example.com/Name"), qualified_name("/x")
    ([], ['prefix part must be non-empty'])
    """
    prefix, slash, name = text.partition("/")
    if not slash:
        prefix, name = "", text
    elif "/" in name:
        shown = regex_message(_QUALIFIED_SAYS, _QUALIFIED, ["MyName", "my.name", "123-abc"])
        return [f"a valid label key {shown} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    errors: list[str] = []
    if slash:
        if not prefix:
            errors.append("prefix part must be non-empty")
        else:
            errors += [f"prefix part {message}" for message in _subdomain(prefix, "bytes")]
    if not name:
        errors.append("name part must be non-empty")
    elif _size(name) > 63:
        errors.append("name part must be no more than 63 bytes")
    if not _QUALIFIED_RE.fullmatch(name):
        errors.append("name part " + regex_message(_QUALIFIED_SAYS, _QUALIFIED, ["MyName", "my.name", "123-abc"]))
    return errors


def label_value(text: str) -> list[str]:
    """Return the rule for values of labels."""
    errors = _too_long(text, 63, "bytes")
    if not _LABEL_VALUE_RE.fullmatch(text):
        rule = f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
        errors.append(regex_message(rule, _LABEL_VALUE, ["MyValue", "my_value", "12345"]))
    return errors


def config_map_key(text: str) -> list[str]:
    """Return the rule for keys in ConfigMaps and Secrets."""
    errors = _too_long(text, 253)
    if not _CONFIG_KEY_RE.fullmatch(text):
        rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        errors.append(regex_message(rule, _CONFIG_KEY, ["key.name", "KEY_NAME", "key-name"]))
    if text in (".", ".."):
        errors.append(f"must not be '{text}'")
    elif text.startswith(".."):
        errors.append("must not start with '..'")
    return errors


def env_var_name(text: str) -> list[str]:
    """Return the rule for names of environment variables."""
    if not text:
        return ["environment variable name must be non-empty"]
    if any(not " " <= char <= "~" or char == "=" for char in text):
        return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
    return []


def c_identifier(text: str) -> list[str]:
    """Return a name as C has them."""
    if _C_IDENTIFIER_RE.fullmatch(text):
        return []
    rule = (
        "a valid C identifier must start with alphabetic character or '_', "
        "followed by a string of alphanumeric characters or '_'"
    )
    return [regex_message(rule, _C_IDENTIFIER, ["my_name", "MY_NAME", "MyName"])]


def port_name(text: str) -> list[str]:
    """Return the rule for names of ports (IANA service names)."""
    errors = _too_long(text, 15)
    if not _PORT_NAME_RE.fullmatch(text):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in text):
        errors.append("must contain at least one letter (a-z)")
    if "--" in text:
        errors.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def port_number(port: int) -> list[str]:
    """Return a port from 1 to 65535."""
    return [] if 1 <= port <= 65535 else ["must be between 1 and 65535, inclusive"]


def percent(text: str) -> list[str]:
    """Return a whole number of percent."""
    if _PERCENT_RE.fullmatch(text):
        return []
    rule = "a valid percent string must be a numeric string followed by an ending '%'"
    return [regex_message(rule, _PERCENT, ["1%", "93%"])]


def http_header_name(text: str) -> list[str]:
    """Return the name of an HTTP header."""
    if _HTTP_HEADER_RE.fullmatch(text):
        return []
    rule = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [regex_message(rule, _HTTP_HEADER, ["X-Header-Name"])]


def without_trailing_dash(text: str) -> str:
    """``text`` with its end made harmless when that is a dash: how a generateName is checked by rules for names.

    >>> without_trailing_dash("web-"), without_trailing_dash("-")
    ('wea', '-')
    """
    return text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text
