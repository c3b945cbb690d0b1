"""Strategies of networking: Ingress, IngressClass, NetworkPolicy, IPAddress, ServiceCIDR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from kontend.kube.builtin.default_class import default_class
from kontend.kube.builtin.validation.networking import ingress, network_policy, service_ranges
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.strategy import (
    STATUS,
    ListObjects,
    Strategy,
    WithSpecAndStatus,
    nothing_stored,
)

DEFAULT_CLASS: Final = "ingressclass.kubernetes.io/is-default-class"
CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"


class Ingresses(WithSpecAndStatus):
    """Ingresses."""

    zero_status: ClassVar = {"loadBalancer": {}}
    rechecks_metadata = True

    def admit_create(self, obj: Json, list_objects: ListObjects = nothing_stored) -> None:
        """Chooses the default ingress class if none is asked for."""
        metadata = obj.get("metadata") or {}
        spec = obj.setdefault("spec", {})
        if spec.get("ingressClassName") is not None or CLASS_ANNOTATION in (metadata.get("annotations") or {}):
            return
        default = default_class(list_objects("networking.k8s.io", "IngressClass"), DEFAULT_CLASS)
        if default:
            spec["ingressClassName"] = default

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new ingress."""
        return ingress.validate_ingress(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed ingress."""
        return ingress.validate_ingress_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed status."""
        return ingress.validate_ingress_status(new, old)


class IngressClasses(Strategy):
    """Ingress classes."""

    namespaced = False
    generation_fields = ("spec",)
    rechecks_metadata = True

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new ingress class."""
        return ingress.validate_ingress_class(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed ingress class."""
        return ingress.validate_ingress_class_update(new, old)


class NetworkPolicies(Strategy):
    """Network policies."""

    generation_fields = ("spec",)
    rechecks_metadata = True

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a network policy."""
        return network_policy.validate_network_policy(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:  # noqa: ARG002
        """Validate a changed network policy; both of the server's checks look at the whole spec."""
        errors = network_policy.validate_network_policy(new)
        return errors + errors


class IpAddresses(Strategy):
    """The addresses that services hold."""

    namespaced = False
    name_rule = staticmethod(service_ranges.ip_address_name)
    rechecks_metadata = True

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new address."""
        return service_ranges.validate_ip_address(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed address."""
        return service_ranges.validate_ip_address_update(new, old)


class ServiceCidrs(Strategy):
    """The ranges that services get their addresses from."""

    namespaced = False
    status_resets_metadata = True
    reset_fields: ClassVar = {"": STATUS, "status": (("spec",),)}
    empty_fields: ClassVar = (("spec", "cidrs"),)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new range."""
        return service_ranges.validate_service_cidr(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed range."""
        return service_ranges.validate_service_cidr_update(new, old)


_GROUP: Final = "networking.k8s.io"
STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    (_GROUP, "Ingress"): Ingresses(),
    (_GROUP, "IngressClass"): IngressClasses(),
    (_GROUP, "NetworkPolicy"): NetworkPolicies(),
    (_GROUP, "IPAddress"): IpAddresses(),
    (_GROUP, "ServiceCIDR"): ServiceCidrs(),
}
