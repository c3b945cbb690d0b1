"""The options of a request: dry run, field manager, validation of unknown fields, preconditions, list bounds.

They come as query parameters (and, for deletes, in the body) and are checked as kube-apiserver checks them, before
anything else happens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from kontend.kube import kinds
from kontend.kube.encoding.decode import decode
from kontend.kube.encoding.json_syntax import go_kind
from kontend.kube.errors import BadRequest, invalid
from kontend.kube.field_errors import FieldError, go_quote, not_supported, required
from kontend.kube.field_errors import forbidden as forbidden_field
from kontend.kube.field_errors import invalid as invalid_field
from kontend.kube.golang.strconv import whole_number
from kontend.kube.meta.field_selectors import parse_field_selector
from kontend.kube.meta.object_meta import validate_field_manager
from kontend.kube.meta.selectors import parse_selector

Query = Mapping[str, tuple[str, ...]]

_META: Final = "meta.k8s.io"
_MANAGER_LIMIT: Final = 128
_STRICTNESS: Final = ("", "Ignore", "Strict", "Warn")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of a create, update or patch."""

    dry_run: bool = False
    field_manager: str = ""
    #: ``Ignore``, ``Warn`` or ``Strict``: the reaction to unknown and duplicate fields.
    field_validation: str = "Warn"
    force: bool = False


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The options of a delete."""

    dry_run: bool = False
    grace_period_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The options of a list or watch: selectors, resourceVersion and page."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: int | None = None
    allow_bookmarks: bool = False
    send_initial_events: bool | None = None


@lru_cache(maxsize=64)
def _usual_options(user_agent: str) -> WriteOptions:
    return WriteOptions(field_manager=manager_of(user_agent))


def write_options(query: Query, *, kind: str, user_agent: str, apply: bool = False) -> WriteOptions:
    """Return the options of a write; ``kind`` is CreateOptions, UpdateOptions or PatchOptions."""
    if not query:  # nearly every write
        if apply:
            raise invalid(_META, kind, "", [required("fieldManager", "is required for apply patch")])
        return _usual_options(user_agent)
    dry_run = query.get("dryRun", ())
    manager = _first(query, "fieldManager")
    validation = _first(query, "fieldValidation")
    force = _bool(query, "force")
    errors: list[FieldError] = []
    if kind == "PatchOptions":
        if not apply and force is not None:
            errors.append(forbidden_field("force", "may not be specified for non-apply patch"))
        if apply and not manager:
            errors.append(required("fieldManager", "is required for apply patch"))
    errors += validate_field_manager(manager)
    errors += _dry_run_errors(dry_run)
    if validation not in _STRICTNESS:
        errors.append(not_supported("fieldValidation", validation, _STRICTNESS))
    if errors:
        raise invalid(_META, kind, "", errors)
    return WriteOptions(
        dry_run=bool(dry_run),
        field_manager=manager or manager_of(user_agent),
        field_validation=validation or "Warn",
        force=bool(force),
    )


def delete_options(query: Query, body: Any) -> DeleteOptions:
    """Return the options of a delete: from the body when there is one, else from the query."""
    if body is None:
        values: dict[str, Any] = {
            "dryRun": list(query.get("dryRun", ())),
            "gracePeriodSeconds": integer(query, "gracePeriodSeconds"),
            "propagationPolicy": _first(query, "propagationPolicy") or None,
            "orphanDependents": _bool(query, "orphanDependents"),
        }
    else:
        values = _checked_body(body)
    policy = values.get("propagationPolicy")
    orphan = values.get("orphanDependents")
    errors: list[FieldError] = []
    if policy is not None and orphan is not None:
        errors.append(
            invalid_field("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set")
        )
    if policy is not None and policy not in ("Foreground", "Background", "Orphan"):
        errors.append(not_supported("propagationPolicy", policy, ("Foreground", "Background", "Orphan", "nil")))
    dry_run = values.get("dryRun") or ()
    errors += _dry_run_errors(dry_run)
    if errors:
        raise invalid(_META, "DeleteOptions", "", errors)
    preconditions = values.get("preconditions") or {}
    return DeleteOptions(
        dry_run=bool(dry_run),
        grace_period_seconds=values.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        propagation_policy=policy,
        orphan_dependents=orphan,
    )


def _checked_body(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise BadRequest(
            "couldn't get version/kind; json parse error: json: cannot unmarshal "
            f'{go_kind(body)} into Go value of type struct {{ APIVersion string "json:\\"apiVersion,omitempty\\""; '
            'Kind string "json:\\"kind,omitempty\\"" }'
        )
    kind = body.get("kind") or "DeleteOptions"
    version = body.get("apiVersion") or f"{_META}/v1"
    if kind != "DeleteOptions":
        group, _, number = str(version).rpartition("/")
        where = f"{group}/{number}" if group else number
        raise BadRequest(f'no kind "{kind}" is registered for version "{where}" in scheme "pkg/runtime/scheme.go:111"')
    return decode(body, kinds.type_schema("meta/v1.DeleteOptions"))[0]


def list_options(query: Query, *, watching: bool) -> ListOptions:
    """Return the options of a list or a watch."""
    if not query:
        return ListOptions()
    timeout = integer(query, "timeoutSeconds")  # parsed first, before the limit
    options = ListOptions(
        label_selector=_first(query, "labelSelector"),
        field_selector=_first(query, "fieldSelector"),
        limit=integer(query, "limit") or 0,
        continue_token=_first(query, "continue"),
        resource_version=_first(query, "resourceVersion"),
        resource_version_match=_first(query, "resourceVersionMatch"),
        timeout_seconds=timeout,
        allow_bookmarks=bool(_bool(query, "allowWatchBookmarks")),
        send_initial_events=_bool(query, "sendInitialEvents"),
    )
    # Selectors are parsed with the rest of the query, before anything is validated.
    parse_selector(options.label_selector)
    parse_field_selector(options.field_selector)
    errors = _watch_errors(options) if watching else _list_errors(options)
    if errors:
        raise invalid(_META, "ListOptions", "", errors)
    return options


def _list_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    match = options.resource_version_match
    if match:
        if not options.resource_version:
            errors.append(
                forbidden_field(
                    "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
                )
            )
        if options.continue_token:
            errors.append(
                forbidden_field("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
            )
        if match not in ("Exact", "NotOlderThan"):
            errors.append(not_supported("resourceVersionMatch", match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.resource_version == "0":
            errors.append(
                forbidden_field(
                    "resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
                )
            )
    if options.send_initial_events is not None:
        errors.append(forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    match = options.resource_version_match
    if options.send_initial_events is not None and match != "NotOlderThan":
        errors.append(
            forbidden_field(
                "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            )
        )
    if match:
        if options.send_initial_events is None:
            errors.append(
                forbidden_field(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                )
            )
        if match != "NotOlderThan":
            errors.append(not_supported("resourceVersionMatch", match, ("NotOlderThan",)))
        if options.continue_token:
            errors.append(
                forbidden_field("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
            )
    return errors


def manager_of(user_agent: str) -> str:
    """Return the field manager of a client that names none: its User-Agent up to the first slash.

    >>> manager_of("kubectl/v1.35 (linux/amd64)")
    'kubectl'
    """
    name = user_agent.partition("/")[0]
    if name.isascii() and name.isprintable() and len(name) <= _MANAGER_LIMIT:
        return name
    kept, size = [], 0
    for char in name:
        size += len(char.encode())
        if size > _MANAGER_LIMIT:
            break
        if char.isprintable():
            kept.append(char)
    return "".join(kept)


def _dry_run_errors(values: Sequence[Any]) -> list[FieldError]:
    if any(value != "All" for value in values):
        return [not_supported("dryRun", list(values), ("All",))]
    return []


def _first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _bool(query: Query, name: str) -> bool | None:
    values = query.get(name)
    if not values:
        return None
    return values[0].lower() not in ("false", "0")


def integer(query: Query, name: str) -> int | None:
    """Return the whole number that a parameter has, if it has one."""
    values = query.get(name)
    if not values or not values[0]:
        return None
    text = values[0]
    digits = text[1:] if text[0] in "+-" else text
    if not (digits.isascii() and digits.isdigit()):
        raise BadRequest(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax")
    value = whole_number(text)
    if not -(2**63) <= value < 2**63:
        raise BadRequest(f"strconv.ParseInt: parsing {go_quote(text)}: value out of range")
    return value
