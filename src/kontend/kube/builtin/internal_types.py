"""The fields of the server's internal types, in their order, for messages that print a whole spec.

The server validates not the objects of the API but its own form of them, whose fields have no JSON names; when a
message shows such a value (what changed in a pod, a template that may not change), it shows those. A type is one text:
each field has the name that is printed, the field of the API it comes from if that is not the same word, and a type:
``s`` a string, ``n`` a number, ``b`` a boolean, ``q`` a quantity, ``i`` a number or a string, ``t`` a time, ``r`` any
JSON, or the name of a type here, with ``*`` before it for a pointer, ``[]`` for a list, ``{}`` for a map and ``?`` for
what is left out when it is empty. A type in angle brackets is embedded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TYPES: Final[Mapping[str, str]] = {
    "LabelSelector": "matchLabels:?{}s matchExpressions:?[]LabelSelectorRequirement",
    "LabelSelectorRequirement": "key:s operator:s values:?[]s",
    "TypeMeta": "kind:?s apiVersion:?s",
    "OwnerReference": "apiVersion:s kind:s name:s uid:s controller:?*b blockOwnerDeletion:?*b",
    "ObjectMeta": (
        "name:?s generateName:?s namespace:?s uid:?s resourceVersion:?s generation:?n creationTimestamp:?t "
        "deletionTimestamp:?*t deletionGracePeriodSeconds:?*n labels:?{}s annotations:?{}s "
        "ownerReferences:?[]OwnerReference finalizers:?[]s"
    ),
    "PodDisruptionBudgetSpec": (
        "MinAvailable:*i Selector:*LabelSelector MaxUnavailable:*i UnhealthyPodEvictionPolicy:*s"
    ),
    "ScopeSelector": "MatchExpressions:[]ScopedResourceSelectorRequirement",
    "ScopedResourceSelectorRequirement": "ScopeName:s Operator:s Values:[]s",
    "VolumeNodeAffinity": "Required:*NodeSelector",
    "Taint": "Key:s Value:s Effect:s TimeAdded:*t",
    "SuccessPolicy": "Rules:[]SuccessPolicyRule",
    "SuccessPolicyRule": "SucceededIndexes:*s SucceededCount:*n",
    "PodFailurePolicy": "Rules:[]PodFailurePolicyRule",
    "PodFailurePolicyRule": "Action:s OnExitCodes:*OnExitCodes OnPodConditions:[]OnPodCondition",
    "OnExitCodes": "ContainerName:*s Operator:s Values:[]n",
    "OnPodCondition": "Type:s Status:s",
    "DeploymentStrategy": "Type:s RollingUpdate:*RollingUpdateDeployment",
    "DaemonSetUpdateStrategy": "Type:s RollingUpdate:*RollingUpdateDeployment",
    "RollingUpdateDeployment": "MaxUnavailable:i MaxSurge:i",
    "StatefulSetUpdateStrategy": "Type:s RollingUpdate:*RollingUpdateStatefulSetStrategy",
    "RollingUpdateStatefulSetStrategy": "Partition:n MaxUnavailable:*i",
    "AWSElasticBlockStoreVolumeSource": "VolumeID:s FSType=fsType:s Partition:n ReadOnly:b",
    "Affinity": "NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAntiAffinity",
    "AppArmorProfile": "Type:s LocalhostProfile:*s",
    "AzureDiskVolumeSource": ("DiskName:s DataDiskURI=diskURI:s CachingMode:*s FSType=fsType:*s ReadOnly:*b Kind:*s"),
    "AzureFilePersistentVolumeSource": "SecretName:s ShareName:s ReadOnly:b SecretNamespace:*s",
    "AzureFileVolumeSource": "SecretName:s ShareName:s ReadOnly:b",
    "CSIPersistentVolumeSource": (
        "Driver:s VolumeHandle:s ReadOnly:b FSType=fsType:s VolumeAttributes:{}s "
        "ControllerPublishSecretRef:*SecretReference NodeStageSecretRef:*SecretReference "
        "NodePublishSecretRef:*SecretReference ControllerExpandSecretRef:*SecretReference "
        "NodeExpandSecretRef:*SecretReference"
    ),
    "CSIVolumeSource": (
        "Driver:s ReadOnly:*b FSType=fsType:*s VolumeAttributes:{}s NodePublishSecretRef:*LocalObjectReference"
    ),
    "Capabilities": "Add:[]s Drop:[]s",
    "CephFSPersistentVolumeSource": ("Monitors:[]s Path:s User:s SecretFile:s SecretRef:*SecretReference ReadOnly:b"),
    "CephFSVolumeSource": "Monitors:[]s Path:s User:s SecretFile:s SecretRef:*LocalObjectReference ReadOnly:b",
    "CinderPersistentVolumeSource": "VolumeID:s FSType=fsType:s ReadOnly:b SecretRef:*SecretReference",
    "CinderVolumeSource": "VolumeID:s FSType=fsType:s ReadOnly:b SecretRef:*LocalObjectReference",
    "ClusterTrustBundleProjection": "Name:*s SignerName:*s LabelSelector:*LabelSelector Optional:*b Path:s",
    "ConfigMapEnvSource": "<LocalObjectReference> Optional:*b",
    "ConfigMapKeySelector": "<LocalObjectReference> Key:s Optional:*b",
    "ConfigMapProjection": "<LocalObjectReference> Items:[]KeyToPath Optional:*b",
    "ConfigMapVolumeSource": "<LocalObjectReference> Items:[]KeyToPath DefaultMode:*n Optional:*b",
    "Container": (
        "Name:s Image:s Command:[]s Args:[]s WorkingDir:s Ports:[]ContainerPort EnvFrom:[]EnvFromSource "
        "Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:*s "
        "RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice "
        "LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle "
        "TerminationMessagePath:s TerminationMessagePolicy:s ImagePullPolicy:s "
        "SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY=tty:b"
    ),
    "ContainerPort": "Name:s HostPort:n ContainerPort:n Protocol:s HostIP:s",
    "ContainerResizePolicy": "ResourceName:s RestartPolicy:s",
    "ContainerRestartRule": "Action:s ExitCodes:*ContainerRestartRuleOnExitCodes",
    "ContainerRestartRuleOnExitCodes": "Operator:s Values:[]n",
    "DownwardAPIProjection": "Items:[]DownwardAPIVolumeFile",
    "DownwardAPIVolumeFile": ("Path:s FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode:*n"),
    "DownwardAPIVolumeSource": "Items:[]DownwardAPIVolumeFile DefaultMode:*n",
    "EmptyDirVolumeSource": "Medium:s SizeLimit:*q",
    "EnvFromSource": "Prefix:s ConfigMapRef:*ConfigMapEnvSource SecretRef:*SecretEnvSource",
    "EnvVar": "Name:s Value:s ValueFrom:*EnvVarSource",
    "EnvVarSource": (
        "FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector "
        "ConfigMapKeyRef:*ConfigMapKeySelector SecretKeyRef:*SecretKeySelector FileKeyRef:*FileKeySelector"
    ),
    "EphemeralContainer": "<EphemeralContainerCommon> TargetContainerName:s",
    "EphemeralContainerCommon": (
        "Name:s Image:s Command:[]s Args:[]s WorkingDir:s Ports:[]ContainerPort EnvFrom:[]EnvFromSource "
        "Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:*s "
        "RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice "
        "LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle "
        "TerminationMessagePath:s TerminationMessagePolicy:s ImagePullPolicy:s "
        "SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY=tty:b"
    ),
    "EphemeralVolumeSource": "VolumeClaimTemplate:*PersistentVolumeClaimTemplate",
    "ExecAction": "Command:[]s",
    "FCVolumeSource": "TargetWWNs:[]s Lun:*n FSType=fsType:s ReadOnly:b WWIDs=wwids:[]s",
    "FileKeySelector": "VolumeName:s Path:s Key:s Optional:*b",
    "FlexPersistentVolumeSource": "Driver:s FSType=fsType:s SecretRef:*SecretReference ReadOnly:b Options:{}s",
    "FlexVolumeSource": "Driver:s FSType=fsType:s SecretRef:*LocalObjectReference ReadOnly:b Options:{}s",
    "FlockerVolumeSource": "DatasetName:s DatasetUUID:s",
    "GCEPersistentDiskVolumeSource": "PDName=pdName:s FSType=fsType:s Partition:n ReadOnly:b",
    "GRPCAction": "Port:n Service:*s",
    "GitRepoVolumeSource": "Repository:s Revision:s Directory:s",
    "GlusterfsPersistentVolumeSource": "EndpointsName=endpoints:s Path:s ReadOnly:b EndpointsNamespace:*s",
    "GlusterfsVolumeSource": "EndpointsName=endpoints:s Path:s ReadOnly:b",
    "HTTPGetAction": "Path:s Port:i Host:s Scheme:s HTTPHeaders=httpHeaders:[]HTTPHeader",
    "HTTPHeader": "Name:s Value:s",
    "HostAlias": "IP=ip:s Hostnames:[]s",
    "HostPathVolumeSource": "Path:s Type:*s",
    "ISCSIPersistentVolumeSource": (
        "TargetPortal:s IQN=iqn:s Lun:n ISCSIInterface=iscsiInterface:s FSType=fsType:s ReadOnly:b "
        "Portals:[]s DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b "
        "SecretRef:*SecretReference InitiatorName:*s"
    ),
    "ISCSIVolumeSource": (
        "TargetPortal:s IQN=iqn:s Lun:n ISCSIInterface=iscsiInterface:s FSType=fsType:s ReadOnly:b "
        "Portals:[]s DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b "
        "SecretRef:*LocalObjectReference InitiatorName:*s"
    ),
    "ImageVolumeSource": "Reference:s PullPolicy:s",
    "KeyToPath": "Key:s Path:s Mode:*n",
    "Lifecycle": "PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal:*s",
    "LifecycleHandler": (
        "Exec:*ExecAction HTTPGet=httpGet:*HTTPGetAction TCPSocket=tcpSocket:*TCPSocketAction Sleep:*SleepAction"
    ),
    "LocalObjectReference": "Name:s",
    "LocalVolumeSource": "Path:s FSType=fsType:*s",
    "ModifyVolumeStatus": "TargetVolumeAttributesClassName:s Status:s",
    "NFSVolumeSource": "Server:s Path:s ReadOnly:b",
    "NodeAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector "
        "PreferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm"
    ),
    "NodeSelector": "NodeSelectorTerms:[]NodeSelectorTerm",
    "NodeSelectorRequirement": "Key:s Operator:s Values:[]s",
    "NodeSelectorTerm": "MatchExpressions:[]NodeSelectorRequirement MatchFields:[]NodeSelectorRequirement",
    "ObjectFieldSelector": "APIVersion=apiVersion:s FieldPath:s",
    "ObjectReference": "Kind:s Namespace:s Name:s UID=uid:s APIVersion=apiVersion:s ResourceVersion:s FieldPath:s",
    "PersistentVolumeClaim": (
        "<TypeMeta> <ObjectMeta> Spec:PersistentVolumeClaimSpec Status:PersistentVolumeClaimStatus"
    ),
    "PersistentVolumeClaimCondition": "Type:s Status:s LastProbeTime:t LastTransitionTime:t Reason:s Message:s",
    "PersistentVolumeClaimSpec": (
        "AccessModes:[]s Selector:*LabelSelector Resources:VolumeResourceRequirements VolumeName:s "
        "StorageClassName:*s VolumeMode:*s DataSource:*TypedLocalObjectReference "
        "DataSourceRef:*TypedObjectReference VolumeAttributesClassName:*s"
    ),
    "PersistentVolumeClaimStatus": (
        "Phase:s AccessModes:[]s Capacity:{}q Conditions:[]PersistentVolumeClaimCondition "
        "AllocatedResources:{}q AllocatedResourceStatuses:{}s CurrentVolumeAttributesClassName:*s "
        "ModifyVolumeStatus:*ModifyVolumeStatus"
    ),
    "PersistentVolumeClaimTemplate": "<ObjectMeta> Spec:PersistentVolumeClaimSpec",
    "PersistentVolumeClaimVolumeSource": "ClaimName:s ReadOnly:b",
    "PersistentVolumeSource": (
        "GCEPersistentDisk=gcePersistentDisk:*GCEPersistentDiskVolumeSource "
        "AWSElasticBlockStore=awsElasticBlockStore:*AWSElasticBlockStoreVolumeSource "
        "HostPath:*HostPathVolumeSource Glusterfs:*GlusterfsPersistentVolumeSource NFS=nfs:*NFSVolumeSource "
        "RBD=rbd:*RBDPersistentVolumeSource Quobyte:*QuobyteVolumeSource "
        "ISCSI=iscsi:*ISCSIPersistentVolumeSource FlexVolume:*FlexPersistentVolumeSource "
        "Cinder:*CinderPersistentVolumeSource CephFS=cephfs:*CephFSPersistentVolumeSource "
        "FC=fc:*FCVolumeSource Flocker:*FlockerVolumeSource AzureFile:*AzureFilePersistentVolumeSource "
        "VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource "
        "PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource PortworxVolume:*PortworxVolumeSource "
        "ScaleIO:*ScaleIOPersistentVolumeSource Local:*LocalVolumeSource "
        "StorageOS=storageos:*StorageOSPersistentVolumeSource CSI=csi:*CSIPersistentVolumeSource"
    ),
    "PhotonPersistentDiskVolumeSource": "PdID:s FSType=fsType:s",
    "PodAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm"
    ),
    "PodAffinityTerm": (
        "LabelSelector:*LabelSelector Namespaces:[]s TopologyKey:s NamespaceSelector:*LabelSelector "
        "MatchLabelKeys:[]s MismatchLabelKeys:[]s"
    ),
    "PodAntiAffinity": (
        "RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm "
        "PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm"
    ),
    "PodCertificateProjection": (
        "SignerName:s KeyType:s MaxExpirationSeconds:*n CredentialBundlePath:s KeyPath:s "
        "CertificateChainPath:s UserAnnotations:{}s"
    ),
    "PodDNSConfig": "Nameservers:[]s Searches:[]s Options:[]PodDNSConfigOption",
    "PodDNSConfigOption": "Name:s Value:*s",
    "PodOS": "Name:s",
    "PodReadinessGate": "ConditionType:s",
    "PodResourceClaim": "Name:s ResourceClaimName:*s ResourceClaimTemplateName:*s",
    "PodSchedulingGate": "Name:s",
    "PodSecurityContext": (
        "HostNetwork:b HostPID:b HostIPC:b ShareProcessNamespace:*b HostUsers:*b "
        "SELinuxOptions=seLinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions "
        "RunAsUser:*n RunAsGroup:*n RunAsNonRoot:*b SupplementalGroups:[]n SupplementalGroupsPolicy:*s "
        "FSGroup=fsGroup:*n FSGroupChangePolicy=fsGroupChangePolicy:*s Sysctls:[]Sysctl "
        "SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile "
        "SELinuxChangePolicy=seLinuxChangePolicy:*s"
    ),
    "PodSpec": (
        "Volumes:[]Volume InitContainers:[]Container Containers:[]Container "
        "EphemeralContainers:[]EphemeralContainer RestartPolicy:s TerminationGracePeriodSeconds:*n "
        "ActiveDeadlineSeconds:*n DNSPolicy=dnsPolicy:s NodeSelector:{}s ServiceAccountName:s "
        "AutomountServiceAccountToken:*b NodeName:s SecurityContext:*PodSecurityContext "
        "ImagePullSecrets:[]LocalObjectReference Hostname:s Subdomain:s SetHostnameAsFQDN:*b "
        "Affinity:*Affinity SchedulerName:s Tolerations:[]Toleration HostAliases:[]HostAlias "
        "PriorityClassName:s Priority:*n PreemptionPolicy:*s DNSConfig=dnsConfig:*PodDNSConfig "
        "ReadinessGates:[]PodReadinessGate RuntimeClassName:*s Overhead:{}q EnableServiceLinks:*b "
        "TopologySpreadConstraints:[]TopologySpreadConstraint OS=os:*PodOS "
        "SchedulingGates:[]PodSchedulingGate ResourceClaims:[]PodResourceClaim "
        "Resources:*ResourceRequirements HostnameOverride:*s WorkloadRef:*WorkloadReference"
    ),
    "PodTemplateSpec": "<ObjectMeta> Spec:PodSpec",
    "PortworxVolumeSource": "VolumeID:s FSType=fsType:s ReadOnly:b",
    "PreferredSchedulingTerm": "Weight:n Preference:NodeSelectorTerm",
    "Probe": (
        "<ProbeHandler> InitialDelaySeconds:n TimeoutSeconds:n PeriodSeconds:n SuccessThreshold:n "
        "FailureThreshold:n TerminationGracePeriodSeconds:*n"
    ),
    "ProbeHandler": (
        "Exec:*ExecAction HTTPGet=httpGet:*HTTPGetAction TCPSocket=tcpSocket:*TCPSocketAction GRPC=grpc:*GRPCAction"
    ),
    "ProjectedVolumeSource": "Sources:[]VolumeProjection DefaultMode:*n",
    "QuobyteVolumeSource": "Registry:s Volume:s ReadOnly:b User:s Group:s Tenant:s",
    "RBDPersistentVolumeSource": (
        "CephMonitors=monitors:[]s RBDImage=image:s FSType=fsType:s RBDPool=pool:s RadosUser=user:s Keyring:s "
        "SecretRef:*SecretReference ReadOnly:b"
    ),
    "RBDVolumeSource": (
        "CephMonitors=monitors:[]s RBDImage=image:s FSType=fsType:s RBDPool=pool:s RadosUser=user:s Keyring:s "
        "SecretRef:*LocalObjectReference ReadOnly:b"
    ),
    "ResourceClaim": "Name:s Request:s",
    "ResourceFieldSelector": "ContainerName:s Resource:s Divisor:q",
    "ResourceRequirements": "Limits:{}q Requests:{}q Claims:[]ResourceClaim",
    "SELinuxOptions": "User:s Role:s Type:s Level:s",
    "ScaleIOPersistentVolumeSource": (
        "Gateway:s System:s SecretRef:*SecretReference SSLEnabled=sslEnabled:b ProtectionDomain:s "
        "StoragePool:s StorageMode:s VolumeName:s FSType=fsType:s ReadOnly:b"
    ),
    "ScaleIOVolumeSource": (
        "Gateway:s System:s SecretRef:*LocalObjectReference SSLEnabled=sslEnabled:b ProtectionDomain:s "
        "StoragePool:s StorageMode:s VolumeName:s FSType=fsType:s ReadOnly:b"
    ),
    "SeccompProfile": "Type:s LocalhostProfile:*s",
    "SecretEnvSource": "<LocalObjectReference> Optional:*b",
    "SecretKeySelector": "<LocalObjectReference> Key:s Optional:*b",
    "SecretProjection": "<LocalObjectReference> Items:[]KeyToPath Optional:*b",
    "SecretReference": "Name:s Namespace:s",
    "SecretVolumeSource": "SecretName:s Items:[]KeyToPath DefaultMode:*n Optional:*b",
    "SecurityContext": (
        "Capabilities:*Capabilities Privileged:*b SELinuxOptions=seLinuxOptions:*SELinuxOptions "
        "WindowsOptions:*WindowsSecurityContextOptions RunAsUser:*n RunAsGroup:*n RunAsNonRoot:*b "
        "ReadOnlyRootFilesystem:*b AllowPrivilegeEscalation:*b ProcMount:*s SeccompProfile:*SeccompProfile "
        "AppArmorProfile:*AppArmorProfile"
    ),
    "ServiceAccountTokenProjection": "Audience:s ExpirationSeconds:n Path:s",
    "SleepAction": "Seconds:n",
    "StorageOSPersistentVolumeSource": (
        "VolumeName:s VolumeNamespace:s FSType=fsType:s ReadOnly:b SecretRef:*ObjectReference"
    ),
    "StorageOSVolumeSource": (
        "VolumeName:s VolumeNamespace:s FSType=fsType:s ReadOnly:b SecretRef:*LocalObjectReference"
    ),
    "Sysctl": "Name:s Value:s",
    "TCPSocketAction": "Port:i Host:s",
    "Toleration": "Key:s Operator:s Value:s Effect:s TolerationSeconds:*n",
    "TopologySpreadConstraint": (
        "MaxSkew:n TopologyKey:s WhenUnsatisfiable:s LabelSelector:*LabelSelector MinDomains:*n "
        "NodeAffinityPolicy:*s NodeTaintsPolicy:*s MatchLabelKeys:[]s"
    ),
    "TypedLocalObjectReference": "APIGroup=apiGroup:*s Kind:s Name:s",
    "TypedObjectReference": "APIGroup=apiGroup:*s Kind:s Name:s Namespace:*s",
    "Volume": "Name:s <VolumeSource>",
    "VolumeDevice": "Name:s DevicePath:s",
    "VolumeMount": ("Name:s ReadOnly:b RecursiveReadOnly:*s MountPath:s SubPath:s MountPropagation:*s SubPathExpr:s"),
    "VolumeProjection": (
        "Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection "
        "ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection "
        "PodCertificate:*PodCertificateProjection"
    ),
    "VolumeResourceRequirements": "Limits:{}q Requests:{}q",
    "VolumeSource": (
        "HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource "
        "GCEPersistentDisk=gcePersistentDisk:*GCEPersistentDiskVolumeSource "
        "AWSElasticBlockStore=awsElasticBlockStore:*AWSElasticBlockStoreVolumeSource "
        "GitRepo:*GitRepoVolumeSource Secret:*SecretVolumeSource NFS=nfs:*NFSVolumeSource "
        "ISCSI=iscsi:*ISCSIVolumeSource Glusterfs:*GlusterfsVolumeSource "
        "PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource RBD=rbd:*RBDVolumeSource "
        "Quobyte:*QuobyteVolumeSource FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource "
        "CephFS=cephfs:*CephFSVolumeSource Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource "
        "FC=fc:*FCVolumeSource AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource "
        "VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource "
        "PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource Projected:*ProjectedVolumeSource "
        "PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource "
        "StorageOS=storageos:*StorageOSVolumeSource CSI=csi:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource "
        "Image:*ImageVolumeSource"
    ),
    "VsphereVirtualDiskVolumeSource": "VolumePath:s FSType=fsType:s StoragePolicyName:s StoragePolicyID:s",
    "WeightedPodAffinityTerm": "Weight:n PodAffinityTerm:PodAffinityTerm",
    "WindowsSecurityContextOptions": (
        "GMSACredentialSpecName=gmsaCredentialSpecName:*s GMSACredentialSpec=gmsaCredentialSpec:*s "
        "RunAsUserName:*s HostProcess:*b"
    ),
    "WorkloadReference": "Name:s PodGroup:s PodGroupReplicaKey:s",
}
