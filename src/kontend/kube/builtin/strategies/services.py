"""Services, and the addresses behind them: Endpoints and EndpointSlice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from kontend.kube.builtin.service_shape import has_cluster_ip, is_externally_accessible, needs_health_check_port
from kontend.kube.builtin.validation.networking import endpoints, service
from kontend.kube.field_errors import FieldError
from kontend.kube.json_types import Json
from kontend.kube.meta.equality import same
from kontend.kube.meta.name_rules import dns1035_label
from kontend.kube.strategy import STATUS, Strategy, WithOwnFieldLabels, metadata_of


class Services(WithOwnFieldLabels):
    """Services; changing the type drops what only the old type needed, unless the writer touched that too."""

    allow_create_on_update = True
    returns_deleted_object = True
    name_rule = staticmethod(dns1035_label)
    zero_status: ClassVar = {"loadBalancer": {}}
    reset_fields: ClassVar = {"": STATUS, "status": (("spec",),)}
    selectable = ("spec.clusterIP", "spec.type")

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Keep the status, and drop what the new type does not need."""
        super().prepare_for_update(new, old)
        _drop_type_dependent_fields(new["spec"], old.get("spec") or {})
        if new["spec"].get("type") != "LoadBalancer":
            new["status"] = {**(new.get("status") or {}), "loadBalancer": {}}

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a new service."""
        return service.validate_service(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed service."""
        return service.validate_service_update(new, old)

    def validate_status_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed status."""
        return service.validate_service_status_update(new, old)

    def field_labels(self, obj: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the values of the selectable fields."""
        spec = obj.get("spec") or {}
        labels = {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}
        return {**super().field_labels(obj), **labels}


def _drop_type_dependent_fields(new: Json, old: Mapping[str, Any]) -> None:
    def same(field: str) -> bool:
        return (new.get(field) or None) == (old.get(field) or None)

    if has_cluster_ip(old) and not has_cluster_ip(new):
        if same("clusterIP") and same("clusterIPs"):
            new.pop("clusterIP", None)
            new.pop("clusterIPs", None)
        for field in ("ipFamilies", "ipFamilyPolicy"):
            if same(field):
                new.pop(field, None)
    with_node_ports = ("NodePort", "LoadBalancer")
    if old.get("type") in with_node_ports and new.get("type") not in with_node_ports:
        before = {port.get("nodePort", 0) for port in old.get("ports") or []}
        if {port["nodePort"] for port in new.get("ports") or [] if port.get("nodePort")} <= before:
            for port in new.get("ports") or []:
                port.pop("nodePort", None)
    if needs_health_check_port(old) and not needs_health_check_port(new) and same("healthCheckNodePort"):
        new.pop("healthCheckNodePort", None)
    if old.get("type") == "LoadBalancer" and new.get("type") != "LoadBalancer":
        allocate = "allocateLoadBalancerNodePorts"
        if new.get(allocate) is not None and new.get(allocate) == old.get(allocate):
            del new[allocate]
        if same("loadBalancerClass"):
            new.pop("loadBalancerClass", None)
    if is_externally_accessible(old) and not is_externally_accessible(new) and same("externalTrafficPolicy"):
        new.pop("externalTrafficPolicy", None)


class Endpoints(Strategy):
    """Endpoints."""

    allow_create_on_update = True
    rechecks_metadata = True

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate endpoints."""
        return endpoints.validate_endpoints(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate changed endpoints."""
        return endpoints.validate_endpoints_update(new, old)


class EndpointSlices(Strategy):
    """Endpoint slices; everything but the metadata counts, and the labels as well."""

    generation_fields = ("endpoints", "ports", "addressType")
    rechecks_metadata = True
    rechecks_metadata_update = False

    def prepare_for_create(self, obj: Json) -> None:
        """Start with generation 1, without the topology of the beta."""
        super().prepare_for_create(obj)
        _drop_topology(obj)

    def prepare_for_update(self, new: Json, old: Mapping[str, Any]) -> None:
        """Count changes."""
        super().prepare_for_update(new, old)
        if (metadata_of(new).get("labels") or {}) != ((old.get("metadata") or {}).get("labels") or {}):
            self.next_generation(new, old)
        if not same(new.get("endpoints"), old.get("endpoints")):
            _drop_topology(new)

    def validate(self, obj: Json) -> list[FieldError]:
        """Validate a slice."""
        return endpoints.validate_endpoint_slice(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        """Validate a changed slice."""
        return endpoints.validate_endpoint_slice_update(new, old)


def _drop_topology(endpoint_slice: Json) -> None:
    for endpoint in endpoint_slice.get("endpoints") or []:
        endpoint.pop("deprecatedTopology", None)


STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    ("", "Service"): Services(),
    ("", "Endpoints"): Endpoints(),
    ("discovery.k8s.io", "EndpointSlice"): EndpointSlices(),
}
