"""Cron jobs."""

from __future__ import annotations

import re
from typing import Final

from kontend.kube.builtin.cron_schedule import ScheduleError, parse_schedule
from kontend.kube.builtin.internal_form import shown_as
from kontend.kube.builtin.validation.checks import non_negative, one_of, path_of
from kontend.kube.builtin.validation.workloads.job import validate_job_spec
from kontend.kube.field_errors import FieldError, invalid, not_supported, required
from kontend.kube.json_types import Json

_ZONE_PART: Final = re.compile(r"[A-Za-z0-9_\-+]*")
#: The first words of all time zones. Whether the rest is right depends on a database that machines have in different
#: versions, so it is not asked.
_AREAS: Final = frozenset(
    (
        "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Brazil", "Canada", "Chile",
        "Etc", "Europe", "Indian", "Mexico", "Pacific", "US",
    )
)  # fmt: skip
_SINGLE_ZONES: Final = frozenset(
    (
        "CET", "CST6CDT", "Cuba", "EET", "EST", "EST5EDT", "Egypt", "Eire", "Factory", "GB", "GB-Eire", "GMT", "GMT+0",
        "GMT-0", "GMT0", "Greenwich", "HST", "Hongkong", "Iceland", "Iran", "Israel", "Jamaica", "Japan", "Kwajalein",
        "Libya", "Local", "MET", "MST", "MST7MDT", "NZ", "NZ-CHAT", "Navajo", "PRC", "PST8PDT", "Poland", "Portugal",
        "ROC", "ROK", "Singapore", "Turkey", "UCT", "UTC", "Universal", "W-SU", "WET", "Zulu",
    )
)  # fmt: skip


def validate_cron_job(new: Json, old: Json | None = None) -> list[FieldError]:
    """Validate a cron job, new or changed."""
    spec = new.get("spec") or {}
    old_spec = None if old is None else old.get("spec") or {}
    errors = _schedule(spec, old_spec)
    errors += non_negative(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds")
    zone = spec.get("timeZone")
    if zone is not None and (old_spec is None or old_spec.get("timeZone") != zone):
        errors += _time_zone(zone, "spec.timeZone")
    policies = ("Allow", "Forbid", "Replace")
    errors += one_of(spec.get("concurrencyPolicy", ""), "spec.concurrencyPolicy", policies)
    job = path_of(spec, "jobTemplate", "spec") or {}
    errors += validate_job_spec(job, "spec.jobTemplate.spec")
    if job.get("selector") is not None:
        shown = shown_as("LabelSelector", job["selector"])
        errors.append(invalid("spec.jobTemplate.spec.selector", shown, "`selector` will be auto-generated"))
    if job.get("manualSelector"):
        errors.append(not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false")))
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += non_negative(spec.get(field), f"spec.{field}")
    name = (new.get("metadata") or {}).get("name", "")
    if old is None and len(name) > 52:
        errors.append(invalid("metadata.name", name, "must be no more than 52 characters"))
    return errors


def _schedule(spec: Json, old_spec: Json | None) -> list[FieldError]:
    schedule = spec.get("schedule", "")
    if not schedule:
        return [required("spec.schedule")]
    errors = []
    try:
        parse_schedule(schedule)
    except ScheduleError as error:
        errors.append(invalid("spec.schedule", schedule, str(error)))
    if "TZ" in schedule:
        if old_spec is None or "TZ" not in old_spec.get("schedule", ""):
            why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(invalid("spec.schedule", schedule, why))
        elif spec.get("timeZone") is not None:
            why = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
            errors.append(invalid("spec.schedule", schedule, why))
    return errors


def _time_zone(zone: str, path: str) -> list[FieldError]:
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part):
            return [invalid(path, zone, f"unknown time zone {zone}")]
    errors = []
    if zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(invalid(path, zone, why))
    area, slash, _ = zone.partition("/")
    if area not in _AREAS if slash else zone not in _SINGLE_ZONES:
        errors.append(invalid(path, zone, f"unknown time zone {zone}"))
    return errors
