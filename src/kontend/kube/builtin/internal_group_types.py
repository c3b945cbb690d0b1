"""The internal types of autoscaling, flow control, storage and devices.

:mod:`~kontend.kube.builtin.internal_types` says how to read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TYPES: Final[Mapping[str, str]] = {
    "AllocationResult": "Devices:DeviceAllocationResult NodeSelector:*NodeSelector AllocationTimestamp:*t",
    "CELDeviceSelector": "Expression:s",
    "CSINodeDriver": "Name:s NodeID:s TopologyKeys:[]s Allocatable:*VolumeNodeResources",
    "CapacityRequirements": "Requests:{}q",
    "DeviceAttribute": "IntValue=int:*n BoolValue=bool:*b StringValue=string:*s VersionValue=version:*s",
    "DeviceAllocationConfiguration": "Source:s Requests:[]s <DeviceConfiguration>",
    "DeviceAllocationResult": "Results:[]DeviceRequestAllocationResult Config:[]DeviceAllocationConfiguration",
    "DeviceClaim": "Requests:[]DeviceRequest Constraints:[]DeviceConstraint Config:[]DeviceClaimConfiguration",
    "DeviceClaimConfiguration": "Requests:[]s <DeviceConfiguration>",
    "DeviceConfiguration": "Opaque:*OpaqueDeviceConfiguration",
    "DeviceConstraint": "Requests:[]s MatchAttribute:*s DistinctAttribute:*s",
    "DeviceRequest": "Name:s Exactly:*ExactDeviceRequest FirstAvailable:[]DeviceSubRequest",
    "DeviceRequestAllocationResult": (
        "Request:s Driver:s Pool:s Device:s AdminAccess:*b Tolerations:[]DeviceToleration "
        "BindingConditions:[]s BindingFailureConditions:[]s ShareID:*s ConsumedCapacity:{}q"
    ),
    "DeviceSelector": "CEL=cel:*CELDeviceSelector",
    "DeviceSubRequest": (
        "Name:s DeviceClassName:s Selectors:[]DeviceSelector AllocationMode:s Count:n "
        "Tolerations:[]DeviceToleration Capacity:*CapacityRequirements"
    ),
    "DeviceToleration": "Key:s Operator:s Value:s Effect:s TolerationSeconds:*n",
    "EventSource": "Component:s Host:s",
    "ExactDeviceRequest": (
        "DeviceClassName:s Selectors:[]DeviceSelector AllocationMode:s Count:n AdminAccess:*b "
        "Tolerations:[]DeviceToleration Capacity:*CapacityRequirements"
    ),
    "ExemptPriorityLevelConfiguration": "NominalConcurrencyShares:*n LendablePercent:*n",
    "FlowDistinguisherMethod": "Type:s",
    "FlowSchemaSpec": (
        "PriorityLevelConfiguration:PriorityLevelConfigurationReference MatchingPrecedence:n "
        "DistinguisherMethod:*FlowDistinguisherMethod Rules:[]PolicyRulesWithSubjects"
    ),
    "GroupSubject": "Name:s",
    "HPAScalingPolicy": "Type:s Value:n PeriodSeconds:n",
    "HPAScalingRules": "StabilizationWindowSeconds:*n SelectPolicy:*s Policies:[]HPAScalingPolicy Tolerance:*q",
    "HorizontalPodAutoscalerBehavior": "ScaleUp:*HPAScalingRules ScaleDown:*HPAScalingRules",
    "LimitResponse": "Type:s Queuing:*QueuingConfiguration",
    "LimitedPriorityLevelConfiguration": (
        "NominalConcurrencyShares:n LimitResponse:LimitResponse LendablePercent:*n BorrowingLimitPercent:*n"
    ),
    "NonResourcePolicyRule": "Verbs:[]s NonResourceURLs:[]s",
    "OpaqueDeviceConfiguration": "Driver:s Parameters:r",
    "PersistentVolumeSpec": (
        "Capacity:{}q <PersistentVolumeSource> AccessModes:[]s ClaimRef:*ObjectReference "
        "PersistentVolumeReclaimPolicy:s StorageClassName:s MountOptions:[]s VolumeMode:*s "
        "NodeAffinity:*VolumeNodeAffinity VolumeAttributesClassName:*s"
    ),
    "PolicyRulesWithSubjects": (
        "Subjects:[]Subject ResourceRules:[]ResourcePolicyRule NonResourceRules:[]NonResourcePolicyRule"
    ),
    "PriorityLevelConfigurationReference": "Name:s",
    "PriorityLevelConfigurationSpec": (
        "Type:s Limited:*LimitedPriorityLevelConfiguration Exempt:*ExemptPriorityLevelConfiguration"
    ),
    "QueuingConfiguration": "Queues:n HandSize:n QueueLengthLimit:n",
    "ResourceClaimConsumerReference": "APIGroup=apiGroup:s Resource:s Name:s UID=uid:s",
    "ResourceClaimSpec": "Devices:DeviceClaim",
    "ResourceClaimTemplateSpec": "<ObjectMeta> Spec:ResourceClaimSpec",
    "ResourcePolicyRule": "Verbs:[]s APIGroups=apiGroups:[]s Resources:[]s ClusterScope:b Namespaces:[]s",
    "ServiceAccountSubject": "Namespace:s Name:s",
    "Subject": "Kind:s User:*UserSubject Group:*GroupSubject ServiceAccount:*ServiceAccountSubject",
    "UserSubject": "Name:s",
    "VolumeAttachmentSource": "PersistentVolumeName:*s InlineVolumeSpec:*PersistentVolumeSpec",
    "VolumeAttachmentSpec": "Attacher:s Source:VolumeAttachmentSource NodeName:s",
    "VolumeNodeResources": "Count:*n",
}
