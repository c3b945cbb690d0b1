"""The interleaving that hurts, in three steps, for the rules that are about one."""

from __future__ import annotations

from collections.abc import Callable

from kontend.audit.finding import Finding
from kontend.audit.judge.making import call_text, field_text
from kontend.audit.site import Site

Steps = tuple[str, str, str]


def steps_for(finding: Finding, site: Site) -> tuple[str, ...]:
    """Return the steps of a finding at a site, or none for rules that are not about an interleaving."""
    tell = _STEPS.get(finding.rule)
    return tell(site, finding) if tell is not None else ()


def _object(site: Site) -> str:
    return site.resource.kind or site.object.split("\n")[0][:40] or "the object"


def _read(site: Site) -> str:
    where = f" at :{site.read_line}" if site.read_line else ""
    return f"{site.place.function or 'The writer'} reads {_object(site)}{where} at resourceVersion 7."


def _other(finding: Finding, done: str) -> str:
    writer = next((place for place in finding.related if place.note.startswith("writer")), None)
    if writer is None:
        return f"Another writer {done}: resourceVersion 8."
    name = writer.note.removeprefix("writer").strip() or "The module"
    return f"{name} ({writer.path}:{writer.line}) {done}: resourceVersion 8."


def _lost_field(site: Site, finding: Finding) -> Steps:
    return (
        _read(site),
        _other(finding, f"changes {field_text(site) if site.content.fields else 'the status'} of {_object(site)}"),
        f"{call_text(site)} at :{site.place.line} sends what was computed from 7, and the server accepts it: "
        "the change of 8 is lost.",
    )


def _lost_element(site: Site, finding: Finding) -> Steps:
    lists = ", ".join(site.content.lists[:2]) or "the list"
    return (
        _read(site),
        _other(finding, f"adds an element to {lists}"),
        f"{call_text(site)} at :{site.place.line} replaces {lists} with the elements of 7, and the server accepts it: "
        "the new element is gone.",
    )


def _status_patch(site: Site, finding: Finding) -> Steps:
    return _lost_element(site, finding) if site.content.lists else _lost_field(site, finding)


def _overwritten(site: Site, _: Finding) -> Steps:
    return (
        f"{site.place.function or 'The writer'} builds {_object(site)}, which has no resourceVersion.",
        "Another writer changes the stored object: resourceVersion 8.",
        f"{call_text(site)} at :{site.place.line} replaces the object whole, and nothing is compared.",
    )


def _stale_retry(site: Site, _: Finding) -> Steps:
    return (
        f"{site.place.function or 'The writer'} reads {_object(site)} at resourceVersion 7, before the loop.",
        "Another writer changes it: resourceVersion 8.",
        f"{call_text(site)} at :{site.place.line} sends 7 again in every attempt, and every attempt gets 409.",
    )


def _blind_retry(site: Site, _: Finding) -> Steps:
    return (
        "The status is computed from resourceVersion 7; the write gets 409, because another writer stored 8.",
        "The loop reads 8 again, with the other writer's change in it.",
        f"{call_text(site)} at :{site.place.line} lays the status of 7 over it, and the server accepts it.",
    )


def _counted_once(site: Site, _: Finding) -> Steps:
    fields = field_text(site) if site.content.fields else "the counter"
    return (
        f"Two writers read {fields} as 3.",
        "The first sends 4.",
        f"{call_text(site)} at :{site.place.line} sends 4 too, and the server accepts it: one of two is not counted.",
    )


def _own_conflict(site: Site, _: Finding) -> Steps:
    return (
        f"The base is taken at resourceVersion 7 (:{site.base.line}).",
        "The same function writes the object: resourceVersion 8.",
        f"{call_text(site)} at :{site.place.line} names 7, and the server answers 409 to the controller's own write.",
    )


_STEPS: dict[str, Callable[[Site, Finding], Steps]] = {
    "status-patch-without-lock": _status_patch,
    "list-merge-patch-without-lock": _lost_element,
    "list-replaced-without-lock": _lost_element,
    "finalizer-patch-without-lock": _lost_element,
    "owner-reference-patch-without-lock": _lost_element,
    "multi-writer-status-field": _lost_field,
    "lock-used-by-some-writers": _lost_field,
    "status-read-modify-write-unguarded": _lost_field,
    "read-modify-write-unguarded": _lost_field,
    "update-without-version": _overwritten,
    "conflict-retry-stale-object": _stale_retry,
    "conflict-retry-blind-overwrite": _blind_retry,
    "counter-without-lock": _counted_once,
    "locked-base-reused": _own_conflict,
}
