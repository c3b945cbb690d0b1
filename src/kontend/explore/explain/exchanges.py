"""The exchange of a step: its call and the response, as trace documents hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kontend.explore.explain.trail import Part, target_of
from kontend.report.document import CallRecord

_OK: Final = {"create": "201"}


class Exchange(NamedTuple):
    """A call and its response; neither for a step without a call."""

    call: CallRecord | None = None
    #: The status of an error, or the code of success.
    response: str | None = None
    #: The server or a cache has carried it out.
    succeeded: bool = False


def main_part(parts: Sequence[Part]) -> Part:
    """The call that stands for a step: of an atomic reconcile the first one that writes."""
    return next((part for part in parts if part.transition.changes), parts[0])


def exchange_of(part: Part) -> Exchange:
    """The exchange of one call of a step."""
    call, answer = part.call, part.transition.answer
    if call is None:
        return Exchange()
    name = target_of(call).name
    shown = CallRecord(call.verb, call.kind, call.namespace, name, call.subresource, call.cached, call.form)
    return Exchange(shown, answer.text or _OK.get(call.verb, "200"), not answer.text)
