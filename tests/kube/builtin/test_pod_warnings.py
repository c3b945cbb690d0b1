"""Warnings about pods and whatever holds a pod template."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kontend import Cluster
from kontend.cluster.request import ApiRequest
from kontend.kube.builtin.pod_warnings import pod_warnings
from kontend.kube.errors import Invalid

OS = 'deprecated since v1.14; use "kubernetes.io/os" instead'


def container(**fields: Any) -> dict[str, Any]:
    return {"name": "a", "image": "b", **fields}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [container()]}, []),
        ({"nodeSelector": {"beta.kubernetes.io/os": "linux"}}, [f"spec.nodeSelector[beta.kubernetes.io/os]: {OS}"]),
        ({"volumes": [{"name": "v", "gitRepo": {}}]}, [
            "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"
        ]),
        ({"containers": [container(env=[{"name": "X", "value": "1"}, {"name": "X", "value": "2"}])]}, [
            'spec.containers[0].env[1]: hides previous definition of "X", which may be dropped when using apply'
        ]),
        ({"containers": [container(ports=[{"containerPort": 1}, {"containerPort": 1}])]}, [
            "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"
        ]),
        ({"containers": [container(resources={"limits": {"memory": "1500m"}})]}, [
            'spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer'
        ]),
        ({"topologySpreadConstraints": [{"topologyKey": "z"}]}, [
            "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"
        ]),
    ],
)  # fmt: skip
def test_what_is_odd_in_a_pod_is_told(spec: dict[str, Any], expected: list[str]) -> None:
    assert pod_warnings({"spec": spec}) == expected


def test_a_deployment_warns_when_its_template_changes() -> None:
    cluster = Cluster()
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [container()], "nodeSelector": {"beta.kubernetes.io/os": "linux"}},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d.e"}, "spec": spec}
    path = "/apis/apps/v1/namespaces/default/deployments"

    made = cluster.request(ApiRequest("POST", path, body=orjson.dumps(deployment)))
    same, more = (
        cluster.request(ApiRequest("PATCH", f"{path}/d.e", body=body, content_type="application/merge-patch+json"))
        for body in (b'{"metadata":{"labels":{"x":"y"}}}', b'{"spec":{"replicas":2}}')
    )

    warning = f"spec.template.spec.nodeSelector[beta.kubernetes.io/os]: {OS}"
    name = (
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        "a DNS label is recommended: [must not contain dots]"
    )
    assert made.warnings == [name, warning]
    assert same.warnings == []
    assert more.warnings == [warning]


def test_the_annotation_of_a_seccomp_profile_must_be_one() -> None:
    annotations = {"seccomp.security.alpha.kubernetes.io/pod": "odd"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": annotations}}
    with pytest.raises(Invalid, match=r"seccomp.security.alpha.kubernetes.io/pod: .*valid seccomp profile"):
        Cluster().create({**pod, "spec": {"containers": [container()]}})
