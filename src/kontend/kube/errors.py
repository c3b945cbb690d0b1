"""Errors as kube-apiserver returns them: a code, a reason, a message and details.

Every refusal is an :class:`ApiError`; ``status()`` is the ``Status`` object that goes over the wire, and
:func:`from_status` turns one that came over the wire back into the right class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from kontend.kube.field_errors import FieldError, aggregate, go_quote

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


#: In the order in which the server writes them.
_DETAILS: Final = ("name", "group", "kind", "uid", "causes", "retryAfterSeconds")


class ApiError(Exception):
    """A request that the API server refused."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        code: int | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = dict(details) if details is not None else None
        self.http_code = self.code if code is None else code
        self.status_reason = self.reason if reason is None else reason

    @property
    def causes(self) -> list[dict[str, str]]:
        """The single mistakes behind this refusal, where the server lists them."""
        return list((self.details or {}).get("causes", []))

    def status(self) -> dict[str, Any]:
        """Return the ``Status`` object for the wire."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.status_reason:
            status["reason"] = self.status_reason
        if self.details is not None:
            details = {key: self.details[key] for key in _DETAILS if self.details.get(key) not in (None, "", [], 0)}
            status["details"] = details
        status["code"] = self.http_code
        return status


class BadRequest(ApiError):
    """400: the request could not be understood."""

    code, reason = 400, "BadRequest"


class WrongObject(BadRequest):
    """A wrong argument, or an object that cannot be written; the message names the mistake. Nothing was sent."""


class Unauthorized(ApiError):
    """401: the client is not authenticated."""

    code, reason = 401, "Unauthorized"


class Forbidden(ApiError):
    """403: understood, and not allowed."""

    code, reason = 403, "Forbidden"


class NotFound(ApiError):
    """404: no such object, or no such kind."""

    code, reason = 404, "NotFound"


class MethodNotAllowed(ApiError):
    """405: this resource has no such verb."""

    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(ApiError):
    """406: none of the representations asked for can be made."""

    code, reason = 406, "NotAcceptable"


class Conflict(ApiError):
    """409: the object changed since it was read, or another manager owns the field."""

    code, reason = 409, "Conflict"


class AlreadyExists(ApiError):
    """409: an object of that name is there already."""

    code, reason = 409, "AlreadyExists"


class Gone(ApiError):
    """410: that version is no longer in the history. A list can be continued at ``continue_token`` all the same."""

    code, reason = 410, "Expired"

    def __init__(self, message: str, *, continue_token: str = "", **more: Any) -> None:
        super().__init__(message, **more)
        self.continue_token = continue_token

    def status(self) -> dict[str, Any]:
        """Return the ``Status`` object for the wire."""
        status = super().status()
        if self.continue_token:
            status["metadata"] = {"continue": self.continue_token}
        return status


class RequestEntityTooLarge(ApiError):
    """413: the body is larger than the server takes."""

    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    """415: the body is in a format that this resource does not take."""

    code, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    """422: the object does not obey the rules of its kind."""

    code, reason = 422, "Invalid"


class TooManyRequests(ApiError):
    """429: not now, try again later (also an eviction that a disruption budget forbids)."""

    code, reason = 429, "TooManyRequests"


class InternalError(ApiError):
    """500: the server could not do what it should have."""

    code, reason = 500, "InternalError"


class ServiceUnavailable(ApiError):
    """503: the server is not ready."""

    code, reason = 503, "ServiceUnavailable"


class Timeout(ApiError):
    """504: it took too long; it may or may not have happened."""

    code, reason = 504, "Timeout"


_BY_REASON: dict[str, type[ApiError]] = {
    error.reason: error
    for error in (
        BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, Conflict, AlreadyExists, Gone,
        RequestEntityTooLarge, UnsupportedMediaType, Invalid, TooManyRequests, InternalError, ServiceUnavailable,
        Timeout,
    )
}  # fmt: skip
_BY_REASON["Gone"] = Gone
_BY_CODE: dict[int, type[ApiError]] = {error.code: error for error in _BY_REASON.values() if error is not AlreadyExists}


def from_status(status: Mapping[str, Any]) -> ApiError:
    """Return the error that a ``Status`` object stands for.

    >>> from_status({"code": 409, "reason": "AlreadyExists", "message": "there"})
    AlreadyExists('there')
    """
    code = status.get("code") or 500
    reason = status.get("reason") or ""
    cls = _BY_REASON.get(reason) or _BY_CODE.get(code, ApiError)
    return cls(str(status.get("message", "")), details=status.get("details"), code=code, reason=reason)


def qualified(group: str, name: str) -> str:
    """``deployments.apps``, or just ``pods`` for the core group."""
    return f"{name}.{group}" if group else name


def _details(group: str, kind: str, name: str) -> dict[str, Any]:
    return {"name": name, "group": group, "kind": kind}


def not_found(group: str, plural: str, name: str) -> NotFound:
    """No object of that name."""
    return NotFound(f"{qualified(group, plural)} {go_quote(name)} not found", details=_details(group, plural, name))


def already_exists(group: str, plural: str, name: str, *, prefix: str = "") -> AlreadyExists:
    """Return an object of that name is there already."""
    message = f"{prefix}{qualified(group, plural)} {go_quote(name)} already exists"
    return AlreadyExists(message, details=_details(group, plural, name))


def conflict(group: str, plural: str, name: str, why: str = MODIFIED) -> Conflict:
    """The object is not what the writer thought it was."""
    message = f"Operation cannot be fulfilled on {qualified(group, plural)} {go_quote(name)}: {why}"
    return Conflict(message, details=_details(group, plural, name))


def forbidden(group: str, plural: str, name: str, why: str) -> Forbidden:
    """Understood, and not allowed."""
    if not group and not plural:
        message = f"forbidden: {why}"
    elif not name:
        message = f"{qualified(group, plural)} is forbidden: {why}"
    else:
        message = f"{qualified(group, plural)} {go_quote(name)} is forbidden: {why}"
    return Forbidden(message, details=_details(group, plural, name))


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> Invalid:
    """Return the object breaks rules of its kind: one cause for each field error.

    >>> from kontend.kube.field_errors import required
    >>> str(invalid("apps", "Deployment", "d", [required("spec.selector")]))
    'Deployment.apps "d" is invalid: spec.selector: Required value'
    """
    message = f"{qualified(group, kind)} {go_quote(name)} is invalid: {aggregate(errors)}"
    details = {**_details(group, kind, name), "causes": [error.cause() for error in errors]}
    return Invalid(message, details=details)


def rejected(why: str) -> Invalid:
    """Return a patch that cannot be carried out: the server does not say why, a note on the exception does."""
    error = Invalid("the server rejected our request due to an error in our request", details={})
    error.details = {}
    error.add_note(why)
    return error


def internal_error(why: str) -> InternalError:
    """Something went wrong inside."""
    return InternalError(f"Internal error occurred: {why}", details={"causes": [{"message": why}]})


def method_not_allowed(group: str, plural: str, action: str) -> MethodNotAllowed:
    """The resource does not have that verb."""
    message = f"{action} is not supported on resources of kind {go_quote(qualified(group, plural))}"
    return MethodNotAllowed(message, details=_details(group, plural, ""))


def expired(message: str) -> Gone:
    """Return the version asked for is older than the history."""
    return Gone(message)


def timeout(why: str, *, retry_after: int = 0, causes: Sequence[Mapping[str, str]] = ()) -> Timeout:
    """The server did not get there in time."""
    return Timeout(f"Timeout: {why}", details={"retryAfterSeconds": retry_after, "causes": [dict(c) for c in causes]})


def too_many_requests(message: str, *, retry_after: int, causes: Sequence[Mapping[str, str]] = ()) -> TooManyRequests:
    """Not now."""
    details = {"retryAfterSeconds": retry_after, "causes": [dict(cause) for cause in causes]}
    return TooManyRequests(message, details=details)
