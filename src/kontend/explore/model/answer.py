"""Answers to calls, as data: success, a refusal by the server, or a fault in place of an answer.

Whoever judges an answer asks for its code, its reason or its fault. Its text is made from these, for people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

#: The descriptions of faults of calls, by the action of their step.
_FAULTS: Final = {
    "fail": "fails with 500 InternalError",
    "throttle": "fails with 429 TooManyRequests",
    "unavailable": "fails with 503 ServiceUnavailable",
    "conflict": "gets 409 Conflict though nothing conflicts",
    "timeout": "times out, and the server has not carried it out",
    "lose": "is carried out, and its response is lost",
}


class Refusal(NamedTuple):
    """A request that was not carried out, because the server or a cache refused it."""

    code: int
    reason: str
    #: For people; empty for calls of reconciles, whose response holds it.
    message: str = ""

    @property
    def lacks_object(self) -> bool:
        """The object of the request is not there."""
        return self.reason == "NotFound"

    @property
    def already_exists(self) -> bool:
        """The object that the request creates is there."""
        return self.reason == "AlreadyExists"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer that the caller of a request gets."""

    #: None where the request was carried out, or where a fault takes the place of the answer.
    refusal: Refusal | None = None
    #: The action of a fault in place of the answer.
    fault: str = ""
    #: A cache answered, without the server; and it was behind.
    is_cached: bool = False
    is_stale: bool = False

    @property
    def is_conflict(self) -> bool:
        """The server refused a write because of another version of the object."""
        return self.refusal is not None and (self.refusal.code, self.refusal.reason) == (409, "Conflict")

    @property
    def already_exists(self) -> bool:
        """The server refused a create because the object is there."""
        return self.refusal is not None and self.refusal.already_exists

    @property
    def text(self) -> str:
        """The answer in words; empty for success.

        >>> Answer(Refusal(409, "Conflict")).text, Answer(Refusal(404, "NotFound"), is_cached=True).text
        ('409 Conflict', 'not found')
        >>> Answer(fault="lose").text
        'is carried out, and its response is lost'
        """
        if self.fault:
            return _FAULTS[self.fault]
        if self.refusal is None:
            return ""
        if self.is_cached and self.refusal.lacks_object:
            return "not found"
        return f"{self.refusal.code} {self.refusal.reason}"

    @property
    def suffix(self) -> str:
        """The answer as the end of the description of a call."""
        text = f" {self.text}" if self.fault else f": {self.text}" if self.text else ""
        return f"{text} (stale)" if self.is_stale else text


OK: Final = Answer()
