"""CustomResourceDefinitions as a kind like any other: what the registry does with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kontend.kube.crd import definition as crd
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.meta.object_meta import validate_object_meta_update
from kontend.kube.strategy import STATUS, Strategy, take_over


class CustomResourceDefinitions(Strategy):
    """Definitions are counted like specs, and written without a version only when they are created."""

    checks_finalizers = False
    namespaced = False
    allow_unconditional_update = False
    reset_fields: ClassVar = {"": STATUS, "status": (("metadata",), ("spec",))}
    # The name depends on the spec, so the metadata is checked together with it.
    checks_metadata = False
    rechecks_metadata_update = False

    def prepare_for_create(self, obj: Json) -> None:
        """A new definition has no status but the version that it stores."""
        crd.prepare_for_create(obj)
        obj["metadata"]["generation"] = 1

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """The status stays, except for a new storage version."""
        crd.prepare_for_update(new, old)
        if new.get("spec") != old.get("spec"):
            self.next_generation(new, old)

    def prepare_for_status_update(self, new: Json, old: Mapping[str, Any], now: str = "") -> None:  # noqa: ARG002
        """Only the status changes."""
        version = new["metadata"].get("resourceVersion")
        new["metadata"] = dict(old["metadata"])
        if version is not None:
            new["metadata"]["resourceVersion"] = version
        take_over(new, old, "spec")

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new definition, its name included."""
        return crd.validate_crd(obj)

    def warnings(self, new: Json, old: Mapping[str, Any] | None) -> list[str]:
        """Format that the server does not know, and so does not check."""
        return crd.crd_warnings(new, old)

    def canonicalize(self, obj: Json) -> None:
        """Go writes these even when they are empty."""
        status = obj.setdefault("status", {})
        status.setdefault("conditions", None)
        status.setdefault("acceptedNames", {"plural": "", "kind": ""})

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a change of a definition."""
        return crd.validate_crd_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a change of the status."""
        return validate_object_meta_update(new["metadata"], old["metadata"])


STRATEGIES: Final = {("apiextensions.k8s.io", "CustomResourceDefinition"): CustomResourceDefinitions()}
