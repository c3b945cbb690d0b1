"""Checks how a webhook is reached: by a URL or by a service. Admission webhooks and conversion webhooks share them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kontend.kube.field_errors import FieldError, invalid, required
from kontend.kube.golang.url import UrlError, parse_request_uri
from kontend.kube.meta.name_rules import dns1035_label, dns1123_subdomain, port_number

REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_FORM: Final = "; desired format: https://host[/path]"


def client_errors(client: Mapping[str, Any], path: str) -> list[FieldError]:
    """Return the mistakes in a client configuration, which names either a URL or a service."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None:
        return _url_errors(str(url), f"{path}.url")
    return _service_errors(service or {}, f"{path}.service")


def _url_errors(url: str, path: str) -> list[FieldError]:
    # A request line cannot hold a relative reference, but a webhook's URL is read as one: it has no scheme and no host.
    relative = not url.startswith("/") and ":" not in url.partition("/")[0]
    try:
        parsed = parse_request_uri(("/" if relative else "") + url.partition("#")[0])
    except UrlError as error:
        return [required(path, f"url must be a valid URL: {error}{_FORM}")]
    errors: list[FieldError] = []
    scheme, host = ("", "") if relative else (parsed.scheme, parsed.host)
    if scheme != "https":
        errors.append(invalid(path, scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not host:
        errors.append(invalid(path, host, f"host must be specified{_FORM}"))
    user, at, _ = url.partition("//")[2].partition("/")[0].rpartition("@")
    if at:
        errors.append(invalid(path, user, "user information is not permitted in the URL"))
    if url.partition("#")[2]:
        errors.append(invalid(path, url.partition("#")[2], "fragments are not permitted in the URL"))
    if parsed.query:
        errors.append(invalid(path, parsed.query, "query parameters are not permitted in the URL"))
    return errors


def _service_errors(service: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    # The server mixes the two up: it complains about the name of a service whose namespace is missing.
    if not service.get("namespace"):
        errors.append(required(f"{path}.name"))
    if not service.get("name"):
        errors.append(required(f"{path}.namespace"))
    port = service.get("port", 443)
    wrong = port_number(port) if isinstance(port, int) else ["must be between 1 and 65535, inclusive"]
    if wrong:
        errors.append(invalid(f"{path}.port", port, f"port is not valid: {', '.join(wrong)}"))
    return errors + _path_errors(service.get("path"), f"{path}.path")


def _path_errors(text: str | None, path: str) -> list[FieldError]:
    if text is None or text in ("", "/"):
        return []
    if text == "//":
        return [invalid(path, text, "segment[0] may not be empty")]
    errors = [] if text.startswith("/") else [invalid(path, text, "must start with a '/'")]
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        if step:
            errors += [invalid(path, text, f"segment[{index}]: {wrong}") for wrong in dns1123_subdomain(step)]
        else:
            errors.append(invalid(path, text, f"segment[{index}] may not be empty"))
    return errors


def review_version_errors(versions: Sequence[Any], path: str, *, known: bool) -> list[FieldError]:
    """Return the mistakes in the review versions that a webhook takes; ``known`` demands one that the server speaks."""
    errors: list[FieldError] = []
    seen: set[Any] = set()
    for index, version in enumerate(versions):
        if version in seen:
            errors.append(invalid(f"{path}[{index}]", version, "duplicate version"))
            continue
        seen.add(version)
        errors += [invalid(f"{path}[{index}]", version, wrong) for wrong in dns1035_label(str(version))]
    if known and not seen & set(REVIEW_VERSIONS):
        errors.append(invalid(path, list(versions), f"must include at least one of {', '.join(REVIEW_VERSIONS)}"))
    return errors
