"""Paths below a domain, such as ``example.com/controller``, by which controllers name themselves."""

from __future__ import annotations

import re
from typing import Final

from kontend.kube.builtin.validation.checks import bad
from kontend.kube.field_errors import FieldError, invalid, required
from kontend.kube.meta.name_rules import dns1123_subdomain, regex_message

_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def domain_prefixed_path(value: str, path: str) -> list[FieldError]:
    """List the errors of such a path."""
    if not value:
        return [required(path)]
    host, _, rest = value.partition("/")
    if not (host and rest):
        return [invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = bad(path, host, dns1123_subdomain(host))
    if not re.fullmatch(_PATH, rest):
        errors.append(invalid(path, rest, regex_message("Invalid path", _PATH)))
    return errors
