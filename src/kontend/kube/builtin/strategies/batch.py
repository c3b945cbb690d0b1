"""Jobs and cron jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.builtin.pod_conversion import convert_template
from kontend.kube.builtin.pod_warnings import template_warnings
from kontend.kube.builtin.validation.workloads import cron_job, job, job_status
from kontend.kube.field_errors import FieldError, go_quote
from kontend.kube.json_types import Json
from kontend.kube.strategy import Strategy, WithSpecAndStatus, metadata_of

CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
JOB_NAME: Final = "batch.kubernetes.io/job-name"


_ZONE: Final = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


class Jobs(WithSpecAndStatus):
    """Jobs; unless ``manualSelector`` is set the server makes the selector, so that no two jobs claim the same pods."""

    def warnings(self, new: Json, old: Mapping[str, Any] | None) -> list[str]:
        """Warns of what is odd in a new or changed template."""
        return template_warnings(new, old, (new.get("spec") or {}).get("template"), "spec.template", names_pods=True)

    default_deletion = "orphan"
    rechecks_metadata = True
    selectable = ("status.successful",)

    def convert(self, obj: Json) -> None:
        """Convert the pod template."""
        convert_template((obj.get("spec") or {}).get("template"))

    def prepare_for_create(self, obj: Json) -> None:
        """Generate the selector, and the labels that it selects."""
        spec = obj["spec"]
        if not spec.get("manualSelector"):
            _generate_selector(spec, metadata_of(obj))
        super().prepare_for_create(obj)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new job."""
        return job.validate_job(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed job."""
        return job.validate_job_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed status."""
        return job_status.validate_job_status_update(new, old)

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the values of the selectable fields."""
        return {**super().field_labels(obj), "status.successful": str((obj.get("status") or {}).get("succeeded", 0))}

    def unsupported_field_label(self, label: str) -> str:
        """Return the message that refuses any other field selector."""
        return f"field label {go_quote(label)} not supported for Job"


def _generate_selector(spec: Json, metadata: Json) -> None:
    template = spec.setdefault("template", {})
    labels = metadata_of(template).setdefault("labels", {})
    # A conflict with labels that the user set is found by validation.
    for key in ("job-name", JOB_NAME):
        labels.setdefault(key, metadata.get("name", ""))
    for key in ("controller-uid", CONTROLLER_UID):
        labels.setdefault(key, metadata.get("uid", ""))
    selector = spec.get("selector") or {}
    spec["selector"] = selector
    selector.setdefault("matchLabels", {}).setdefault(CONTROLLER_UID, metadata.get("uid", ""))


class CronJobs(WithSpecAndStatus):
    """Cron jobs."""

    def warnings(self, new: Json, old: Mapping[str, Any] | None) -> list[str]:
        """Warns of what is odd in a new or changed template, and of time zones in the schedule."""
        spec = new.get("spec") or {}
        template = ((spec.get("jobTemplate") or {}).get("spec") or {}).get("template")
        warnings = template_warnings(new, old, template, "spec.jobTemplate.spec.template", names_pods=True)
        return [*warnings, _ZONE] if "TZ" in (spec.get("schedule") or "") else warnings

    def convert(self, obj: Json) -> None:
        """Convert the pod template of the job template."""
        job_spec = ((obj.get("spec") or {}).get("jobTemplate") or {}).get("spec") or {}
        convert_template(job_spec.get("template"))

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new cron job."""
        return cron_job.validate_cron_job(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed cron job."""
        return cron_job.validate_cron_job(new, old)


STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {("batch", "Job"): Jobs(), ("batch", "CronJob"): CronJobs()}
