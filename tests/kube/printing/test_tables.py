"""Tables and metadata alone."""

from __future__ import annotations

from typing import Any

import pytest

from kontend.kube.errors import BadRequest
from kontend.kube.printing.kind_cells import CELLS
from kontend.kube.printing.tables import partial_metadata, partial_metadata_list, table

NOW = "2026-01-01T00:10:00Z"
BORN = "2026-01-01T00:00:00Z"
TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]}}


def made(kind: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": "x", "creationTimestamp": BORN, **fields.pop("metadata", {})}
    return {"kind": kind, "metadata": metadata, **fields}


def cells(group: str, kind: str, **fields: Any) -> list[Any]:
    (row,) = table(group, kind, [made(kind, **fields)], now=NOW)["rows"]
    shown: list[Any] = row["cells"]
    return shown


def test_every_kind_has_a_cell_for_each_of_its_columns() -> None:
    for kind, known in CELLS.items():
        for group in known.groups:
            result = table(group, kind, [{"metadata": {"name": "x"}}, {}], now=NOW)
            widths = {len(row["cells"]) for row in result["rows"]}
            # The server prints the age of an IP address, but has no column for it.
            assert widths == {len(result["columnDefinitions"]) + (kind == "IPAddress")}, kind


@pytest.mark.parametrize(
    ("group", "kind", "fields", "expected"),
    [
        ("", "ConfigMap", {"data": {"a": "1"}, "binaryData": {"b": ""}}, ["x", 2, "10m"]),
        ("", "Secret", {"type": "Opaque", "data": {"a": ""}}, ["x", "Opaque", 1, "10m"]),
        ("", "ServiceAccount", {}, ["x", "10m"]),
        ("", "Namespace", {"status": {"phase": "Active"}}, ["x", "Active", "10m"]),
        (
            "apps",
            "Deployment",
            {
                "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE},
                "status": {"readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2},
            },
            ["x", "2/3", 1, 2, "10m", "a,b", "a:1,b:1", "app=x"],
        ),
        (
            "apps",
            "ReplicaSet",
            {"spec": {"replicas": 1, "selector": {}, "template": TEMPLATE}, "status": {"replicas": 1}},
            ["x", 1, 1, 0, "10m", "a,b", "a:1,b:1", "<none>"],
        ),
        ("apps", "StatefulSet", {"spec": {"replicas": 2, "template": TEMPLATE}}, ["x", "0/2", "10m", "a,b", "a:1,b:1"]),
        (
            "batch",
            "Job",
            {
                "spec": {"completions": 2, "template": TEMPLATE, "selector": {"matchLabels": {"j": "1"}}},
                "status": {"succeeded": 2, "startTime": BORN, "completionTime": "2026-01-01T00:00:09Z",
                           "conditions": [{"type": "Complete", "status": "True"}]},
            },
            ["x", "Complete", "2/2", "9s", "10m", "a,b", "a:1,b:1", "j=1"],
        ),
        (
            "batch",
            "CronJob",
            {"spec": {"schedule": "* * * * *", "suspend": False, "jobTemplate": {"spec": {"template": TEMPLATE}}}},
            ["x", "* * * * *", "<none>", "False", 0, "<none>", "10m", "a,b", "a:1,b:1", "<none>"],
        ),
        (
            "",
            "Service",
            {"spec": {"type": "NodePort", "clusterIPs": ["10.0.0.1"], "selector": {"b": "2", "a": "1"},
                      "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}},
            ["x", "NodePort", "10.0.0.1", "<none>", "80:30080/TCP,53/UDP", "10m", "a=1,b=2"],
        ),
        (
            "networking.k8s.io",
            "Ingress",
            {"spec": {"rules": [{"host": name} for name in "abcd"], "tls": [{}]},
             "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}},
            ["x", "<none>", "a,b,c + 1 more...", "1.2.3.4", "80, 443", "10m"],
        ),
        (
            "",
            "Endpoints",
            {"subsets": [{"addresses": [{"ip": "1.1.1.1"}, {"ip": "::1"}], "ports": [{"port": 80}, {"port": 81}]}]},
            ["x", "1.1.1.1:80,[::1]:80,1.1.1.1:81 + 1 more...", "10m"],
        ),
        (
            "",
            "Node",
            {"metadata": {"labels": {"node-role.kubernetes.io/worker": ""}}, "spec": {"unschedulable": True},
             "status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1"}}},
            ["x", "Ready,SchedulingDisabled", "worker", "10m", "v1", *["<none>"] * 2, *["<unknown>"] * 3],
        ),
        (
            "",
            "Event",
            {"lastTimestamp": "2026-01-01T00:09:30Z", "firstTimestamp": BORN, "type": "Normal", "reason": "Made",
             "involvedObject": {"kind": "Pod", "name": "p"}, "source": {"component": "c", "host": "h"},
             "message": " hello\n", "count": 4},
            ["30s", "Normal", "Made", "pod/p", "", "c, h", "hello", "10m", 4, "x"],
        ),
        (
            "",
            "PersistentVolumeClaim",
            {"spec": {"volumeName": "v", "storageClassName": "s", "volumeMode": "Filesystem"},
             "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}},
            ["x", "Bound", "v", "1Gi", "RWO", "s", "<unset>", "10m", "Filesystem"],
        ),
        ("coordination.k8s.io", "Lease", {"spec": {"holderIdentity": "me"}}, ["x", "me", "10m"]),
        ("policy", "PodDisruptionBudget", {"spec": {"minAvailable": "50%"}}, ["x", "50%", "N/A", 0, "10m"]),
        (
            "rbac.authorization.k8s.io",
            "RoleBinding",
            {"roleRef": {"kind": "Role", "name": "r"},
             "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "namespace": "n", "name": "s"}]},
            ["x", "Role/r", "10m", "u", "", "n/s"],
        ),
        ("rbac.authorization.k8s.io", "Role", {}, ["x", BORN]),
    ],
)  # fmt: skip
def test_a_row_shows_what_kubectl_get_shows(group: str, kind: str, fields: dict[str, Any], expected: list[Any]) -> None:
    assert cells(group, kind, **fields) == expected


def container(state: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "a", "state": state, "restartCount": 0, **more}


RUNNING = container({"running": {}}, ready=True)
CRASHED = container(
    {"waiting": {"reason": "CrashLoopBackOff"}},
    restartCount=3,
    lastState={"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T00:09:00Z"}},
)
DONE = container({"terminated": {"exitCode": 0, "reason": "Completed"}})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"status": {"phase": "Pending"}}, ["0/2", "Pending", "0"]),
        ({"status": {"phase": "Running", "containerStatuses": [RUNNING, RUNNING]}}, ["2/2", "Running", "0"]),
        (
            {"status": {"phase": "Running", "containerStatuses": [RUNNING, CRASHED]}},
            ["1/2", "CrashLoopBackOff", "3 (60s ago)"],
        ),
        ({"status": {"phase": "Running", "containerStatuses": [RUNNING, DONE]}}, ["1/2", "NotReady", "0"]),
        ({"status": {"phase": "Succeeded", "containerStatuses": [DONE, DONE]}}, ["0/2", "Completed", "0"]),
        (
            {
                "status": {
                    "phase": "Pending",
                    "initContainerStatuses": [container({"waiting": {"reason": "PodInitializing"}})],
                }
            },
            ["0/2", "Init:0/0", "0"],
        ),
        ({"metadata": {"deletionTimestamp": NOW}, "status": {"phase": "Running"}}, ["0/2", "Terminating", "0"]),
        (
            {"status": {"phase": "Failed", "containerStatuses": [container({"terminated": {"exitCode": 2}})]}},
            ["0/2", "ExitCode:2", "0"],
        ),
    ],
)
def test_a_pod_is_summed_up_in_a_word(fields: dict[str, Any], expected: list[Any]) -> None:
    assert cells("", "Pod", spec=TEMPLATE["spec"], **fields)[1:4] == expected


def test_a_finished_pod_is_marked() -> None:
    (row,) = table("", "Pod", [made("Pod", status={"phase": "Failed"})], now=NOW)["rows"]
    assert row["conditions"] == [
        {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}
    ]


COLUMNS: list[dict[str, Any]] = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status', "priority": 1},
    {"name": "When", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "noted"},
    {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
    {"name": "Tags", "type": "string", "jsonPath": ".spec.tags"},
    {"name": "Part", "type": "number", "jsonPath": ".spec.size"},
]


def test_custom_resources_bring_their_columns_along() -> None:
    status = {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]}
    widget = made("Widget", spec={"size": 3, "on": True, "tags": ["a", 1]}, status=status)
    result = table("example.com", "Widget", [widget, made("Widget", spec={"on": "x"})], columns=COLUMNS, now=NOW)
    assert [row["cells"] for row in result["rows"]] == [
        ["x", 3, "True", "10m", True, '["a",1]', 3.0],
        ["x", None, None, "10m", None, None, None],
    ]
    described = [
        (column_definition["name"], column_definition["type"], column_definition["priority"])
        for column_definition in result["columnDefinitions"]
    ]
    assert described[:3] == [("Name", "string", 0), ("Size", "integer", 0), ("Ready", "string", 1)]
    assert result["columnDefinitions"][1]["description"] == (
        "Custom resource definition column (in JSONPath format): .spec.size"
    )
    assert result["columnDefinitions"][3]["description"] == "noted"


def test_numbers_without_a_fraction_are_written_like_integers() -> None:
    """Go's encoder does that, and clients see the text."""
    column = {"name": "Part", "type": "number", "jsonPath": ".spec.part"}
    parts = [2, 2.0, 2.5, 1e20, 1e21]
    widgets = [made("Widget", spec={"part": part}) for part in parts]
    rows = table("example.com", "Widget", widgets, columns=[column], now=NOW)["rows"]
    assert [repr(row["cells"][1]) for row in rows] == ["2", "2", "2.5", "100000000000000000000", "1e+21"]


def test_columns_end_before_the_first_path_that_cannot_be_read() -> None:
    columns = [{"name": name, "type": "string", "jsonPath": path} for name, path in (
        ("Good", ".spec.a[]"), ("Bad", '.spec["a"]'), ("After", ".spec.b"),
    )]  # fmt: skip
    result = table("example.com", "Widget", [made("Widget", spec={"a": ["x"]})], columns=columns, now=NOW)
    assert [definition["name"] for definition in result["columnDefinitions"]] == ["Name", "Good"]
    assert result["rows"][0]["cells"] == ["x", "x"]


def test_custom_resources_without_columns_have_a_name_and_an_age() -> None:
    result = table("example.com", "Widget", [made("Widget")], columns=[], now=NOW)
    assert [column_definition["name"] for column_definition in result["columnDefinitions"]] == ["Name", "Age"]
    assert result["rows"][0]["cells"] == ["x", "10m"]


def test_rows_carry_as_much_of_the_object_as_asked_for() -> None:
    obj = made("ConfigMap", data={"a": "1"})

    def shown(include: str) -> Any:
        return table("", "ConfigMap", [obj], now=NOW, include_object=include)["rows"][0]["object"]

    assert shown("Object") == obj
    assert shown("None") is None
    assert shown("Metadata") == shown("") == partial_metadata(obj)
    with pytest.raises(BadRequest) as refused:
        shown("All")
    assert refused.value.message == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "All": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


def test_headers_can_be_left_out() -> None:
    result = table("", "ConfigMap", [], now=NOW, headers=False)
    assert (result["columnDefinitions"], result["rows"]) == (None, [])


def test_metadata_alone() -> None:
    obj = made("ConfigMap", data={"a": "1"})
    alone = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
    assert partial_metadata(obj) == alone
    assert partial_metadata_list({"metadata": {"resourceVersion": "7", "continue": ""}, "items": [obj]}) == {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "7"},
        "items": [alone],
    }
