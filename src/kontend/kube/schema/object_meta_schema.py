"""The schema of ``metadata``: the same for every kind, built-in or custom.

Labels and annotations are owned key by key, finalizers value by value, owner references one by one, each as a whole.
"""

from __future__ import annotations

from typing import Final

from kontend.kube.schema.tree import GoField, Schema

_POINTER: Final = GoField(pointer=True)


def _string(go_type: str = "string", *, omit_empty: bool = True) -> Schema:
    return Schema("string", go_type=go_type, go_field=GoField(omit_empty=omit_empty))


def _time(*, pointer: bool = False) -> Schema:
    return Schema("string", format="date-time", go_type="Time", go_field=GoField(pointer=pointer), nullable=True)


OWNER_REFERENCE: Final = Schema(
    "object",
    go_type="OwnerReference",
    atomic=True,
    properties={
        "apiVersion": _string(omit_empty=False),
        "kind": _string(omit_empty=False),
        "name": _string(omit_empty=False),
        # The key of the list: one that is left out counts as empty.
        "uid": Schema("string", go_type="UID", go_field=GoField(omit_empty=False), default=""),
        "controller": Schema("boolean", go_type="bool", go_field=_POINTER),
        "blockOwnerDeletion": Schema("boolean", go_type="bool", go_field=_POINTER),
    },
)

MANAGED_FIELDS_ENTRY: Final = Schema(
    "object",
    go_type="ManagedFieldsEntry",
    properties={
        "manager": _string(),
        "operation": _string("ManagedFieldsOperationType"),
        "apiVersion": _string(),
        "time": _time(pointer=True),
        "fieldsType": _string(),
        "fieldsV1": Schema("object", go_type="FieldsV1", go_field=_POINTER, preserve_unknown=True),
        "subresource": _string(),
    },
)

OBJECT_META: Final = Schema(
    "object",
    go_type="ObjectMeta",
    properties={
        "name": _string(),
        "generateName": _string(),
        "namespace": _string(),
        "selfLink": _string(),
        "uid": _string("UID"),
        "resourceVersion": _string(),
        "generation": Schema("integer", format="int64", go_type="int64"),
        "creationTimestamp": _time(),
        "deletionTimestamp": _time(pointer=True),
        "deletionGracePeriodSeconds": Schema("integer", format="int64", go_type="int64", go_field=_POINTER),
        "labels": Schema("object", additional=_string()),
        "annotations": Schema("object", additional=_string()),
        "ownerReferences": Schema(
            "array",
            items=OWNER_REFERENCE,
            list_type="map",
            map_keys=("uid",),
            patch_strategy="merge",
            patch_merge_key="uid",
        ),
        "finalizers": Schema("array", items=_string(), list_type="set", patch_strategy="merge"),
        "managedFields": Schema("array", items=MANAGED_FIELDS_ENTRY),
    },
)
