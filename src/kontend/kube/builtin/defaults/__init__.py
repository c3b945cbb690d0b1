"""Defaults of the built-in kinds, filled in before anything else looks at an object.

Defaulting comes right after decoding: a field that a decoded object leaves out gets the value that the API documents.
Each module here holds one API group, or the part of one that is a subject of its own; a pod's defaults are shared by
everything that holds a pod template. All of them change the object in place and, applied twice, do nothing more.

Feature gates are as a 1.35 server has them. What depends on other objects or on who asks is not defaulting but
admission, and is not here; the same goes for what depends on the time of day (``timeAdded`` of a device taint).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kontend.kube.builtin.defaults import (
    access,
    autoscaling,
    batch,
    core,
    networking,
    pods,
    registration,
    storage,
    workloads,
)
from kontend.kube.builtin.defaults import resources as device_resources
from kontend.kube.json_types import Json

_ADMISSION: Final = "admissionregistration.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"

_DEFAULTS: Final[dict[tuple[str, str, str], Callable[[Json], None]]] = {
    ("", "v1", "Endpoints"): core.endpoints,
    ("", "v1", "LimitRange"): core.limit_range,
    ("", "v1", "Namespace"): core.namespace,
    ("", "v1", "Node"): core.node,
    ("", "v1", "PersistentVolume"): storage.persistent_volume,
    ("", "v1", "PersistentVolumeClaim"): storage.persistent_volume_claim,
    ("", "v1", "Pod"): pods.pod,
    ("", "v1", "PodTemplate"): pods.pod_template_object,
    ("", "v1", "ReplicationController"): workloads.replication_controller,
    ("", "v1", "ResourceQuota"): core.resource_quota,
    ("", "v1", "Secret"): core.secret,
    ("", "v1", "Service"): core.service,
    ("apps", "v1", "DaemonSet"): workloads.daemon_set,
    ("apps", "v1", "Deployment"): workloads.deployment,
    ("apps", "v1", "ReplicaSet"): workloads.replica_set,
    ("apps", "v1", "StatefulSet"): workloads.stateful_set,
    ("authentication.k8s.io", "v1", "TokenRequest"): access.token_request,
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): autoscaling.min_replicas,
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): autoscaling.horizontal_pod_autoscaler,
    ("batch", "v1", "CronJob"): batch.cron_job,
    ("batch", "v1", "Job"): batch.job,
    ("discovery.k8s.io", "v1", "EndpointSlice"): networking.endpoint_slice,
    ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"): access.flow_schema,
    ("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration"): access.priority_level,
    ("networking.k8s.io", "v1", "IngressClass"): networking.ingress_class,
    ("networking.k8s.io", "v1", "NetworkPolicy"): networking.network_policy,
    (_RBAC, "v1", "ClusterRoleBinding"): access.role_binding,
    (_RBAC, "v1", "RoleBinding"): access.role_binding,
    ("resource.k8s.io", "v1", "ResourceClaim"): device_resources.resource_claim,
    ("resource.k8s.io", "v1", "ResourceClaimTemplate"): device_resources.resource_claim_template,
    ("scheduling.k8s.io", "v1", "PriorityClass"): access.priority_class,
    ("storage.k8s.io", "v1", "CSIDriver"): storage.csi_driver,
    ("storage.k8s.io", "v1", "StorageClass"): storage.storage_class,
    ("storage.k8s.io", "v1", "VolumeAttachment"): storage.volume_attachment,
    (_ADMISSION, "v1", "MutatingWebhookConfiguration"): registration.mutating_webhooks,
    (_ADMISSION, "v1", "ValidatingAdmissionPolicy"): registration.admission_policy,
    (_ADMISSION, "v1", "ValidatingAdmissionPolicyBinding"): registration.admission_policy_binding,
    (_ADMISSION, "v1", "ValidatingWebhookConfiguration"): registration.validating_webhooks,
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"): registration.custom_resource_definition,
    ("apiregistration.k8s.io", "v1", "APIService"): registration.api_service,
}


def apply_defaults(obj: Json, group: str, version: str, kind: str) -> None:
    """Fill the defaults into a decoded object, in place. Kinds without defaults stay as they are.

    >>> secret = {"kind": "Secret", "metadata": {}}
    >>> apply_defaults(secret, "", "v1", "Secret")
    >>> secret["type"]
    'Opaque'
    """
    defaults = _DEFAULTS.get((group, version, kind))
    if defaults is not None:
        defaults(obj)
