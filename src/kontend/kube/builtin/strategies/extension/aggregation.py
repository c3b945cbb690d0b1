"""APIServices: which server answers a group and version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kontend.kube.field_errors import FieldError, go_quote, invalid, required
from kontend.kube.json_types import Json
from kontend.kube.meta.name_rules import dns1035_label, dns1123_subdomain, path_segment, port_number
from kontend.kube.strategy import WithSpecAndStatus, metadata_of


class APIServices(WithSpecAndStatus):
    """APIServices."""

    checks_finalizers = False
    namespaced = False
    generation_fields = ()
    name_rule = staticmethod(path_segment)
    rechecks_metadata = True

    def validate(self, obj: Json) -> list[FieldError]:
        """Find what is wrong with an APIService."""
        spec = obj.get("spec") or {}
        group, version = spec.get("group") or "", spec.get("version") or ""
        name = metadata_of(obj).get("name") or ""
        errors: list[FieldError] = []
        expected = f"{version}.{group}"
        for field, text in (("generateName", metadata_of(obj).get("generateName") or ""), ("name", name)):
            if text and not path_segment(text) and text != expected:
                why = f'must be `spec.version+"."+spec.group`: {go_quote(expected)}'
                errors.append(invalid(f"metadata.{field}", text, why))
        if not group and version != "v1":
            why = "only v1 may have an empty group and it better be legacy kube"
            errors.append(required("spec.group", why))
        if group:
            errors += [invalid("spec.group", group, why) for why in dns1123_subdomain(group)]
        errors += [invalid("spec.version", version, why) for why in dns1035_label(version)]
        for field, most in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
            if not 0 < (spec.get(field) or 0) <= most:
                why = f"must be positive and less than {most}"
                errors.append(invalid(f"spec.{field}", spec.get(field) or 0, why))
        return errors + _service(spec)


def _service(spec: Mapping[str, Any]) -> list[FieldError]:
    service = spec.get("service")
    insecure, bundle = spec.get("insecureSkipTLSVerify"), spec.get("caBundle")
    errors: list[FieldError] = []
    if service is None:
        if bundle:
            size = f"{len(bundle) * 3 // 4 - bundle.count('=')} bytes"
            errors.append(invalid("spec.caBundle", size, "local APIServices may not have a caBundle"))
        if insecure:
            why = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(invalid("spec.insecureSkipTLSVerify", insecure, why))
        return errors
    errors += [required(f"spec.service.{field}") for field in ("namespace", "name") if not service.get(field)]
    port = service.get("port") or 0
    problems = port_number(port)
    if problems:
        errors.append(invalid("spec.service.port", port, f"port is not valid: {', '.join(problems)}"))
    if insecure and bundle:
        errors.append(invalid("spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present"))
    return errors


STRATEGIES: Final = {("apiregistration.k8s.io", "APIService"): APIServices()}
