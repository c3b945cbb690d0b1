"""kubectl, the old one of the distribution and a current one, as people use it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clients.conftest import CRDS, Running

CURRENT = Path(os.environ.get("KONTEND_KUBECTL") or Path.home() / ".cache/kontend/kubectl-1.35.0")
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: app, image: "nginx:1", ports: [{containerPort: 80}]}
        - {name: side, image: "busybox:1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: red}
"""
GARDEN = """
apiVersion: clients.kontend.dev/v1
kind: Garden
metadata: {name: rose}
spec: {plant: rose, paths: [{name: main, length: 3}]}
"""


class Kubectl:
    """One binary, with one server and one namespace."""

    def __init__(self, kind: str, binary: str, server: Running, namespace: str, cache: Path) -> None:
        self.kind, self.namespace = kind, namespace
        self.command = [binary, "--namespace", namespace, "--cache-dir", str(cache)]
        self.environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "HOME": str(cache)}

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *arguments], input=stdin, env=self.environment, capture_output=True, text=True, timeout=60
        )

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """The output of a command that must succeed."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    def fails(self, *arguments: str, stdin: str = "") -> str:
        """The error message of a command that must fail."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "-o", "json"))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A command that goes on until something happens."""
        return subprocess.Popen(
            [*self.command, *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def set_status(self, resource: str, status: dict[str, Any]) -> None:
        self(
            "patch", *resource.split("/"), "--subresource=status", "--type=merge", "-p", json.dumps({"status": status})
        )


@pytest.fixture(params=["distribution", "current"])
def kubectl(request: pytest.FixtureRequest, server: Running, namespace: str, tmp_path: Path) -> Kubectl:
    binary: str | None
    if request.param == "distribution":
        binary = shutil.which("kubectl")
        if binary is None:
            pytest.skip("kubectl is not on the PATH (Debian has it as kubernetes-client)")
    else:
        binary = str(CURRENT)
        if not CURRENT.exists():
            pytest.skip("no current kubectl: build one with tools/build_clients.py, or name it with KONTEND_KUBECTL")
    return Kubectl(request.param, binary, server, namespace, tmp_path)


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    """With a Deployment and a ConfigMap."""
    kubectl("create", "-f", "-", stdin=WEB)
    return kubectl


def ready(web: Kubectl, *, replicas: int, generation: int = 1) -> None:
    """Do what the Deployment controller would do when all Pods are up."""
    condition = {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "up"}
    web.set_status(
        "deployment/web",
        {
            "observedGeneration": generation,
            "conditions": [condition],
            **dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas),
        },
    )


def test_api_resources_lists_built_in_and_custom_kinds(kubectl: Kubectl) -> None:
    names = kubectl("api-resources", "-o", "name").split()
    assert {"pods", "deployments.apps", "gardens.clients.kontend.dev", "leases.coordination.k8s.io"} <= set(names)
    wide = kubectl("api-resources", "--api-group=clients.kontend.dev", "-o", "wide")
    assert re.search(r"gardens +gd +clients\.kontend\.dev/v1 +true +Garden +.*patch.* all", wide)
    assert "clients.kontend.dev/v1" in kubectl("api-versions").split()


def test_version_and_cluster_info_know_the_server(kubectl: Kubectl) -> None:
    assert "Server Version: v1.35.0" in kubectl("version")
    assert "is running at" in kubectl("cluster-info")


@pytest.mark.parametrize("mode", [[], ["--server-side"]], ids=["client-side", "server-side"])
def test_apply_creates_then_changes_only_what_changed(kubectl: Kubectl, mode: list[str]) -> None:
    first = kubectl("apply", *mode, "-f", "-", stdin=WEB + "---" + GARDEN)
    done = "serverside-applied" if mode else "created"
    assert first.split("\n")[:3] == [
        f"deployment.apps/web {done}", f"configmap/settings {done}", f"garden.clients.kontend.dev/rose {done}",
    ]  # fmt: skip
    before = kubectl.json("get", "deployment", "web")
    again = kubectl("apply", *mode, "-f", "-", stdin=WEB + "---" + GARDEN)
    assert again.count("serverside-applied" if mode else "unchanged") == 3
    assert (
        kubectl.json("get", "deployment", "web")["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    )
    changed = WEB.replace("nginx:1", "nginx:2").replace('        - {name: side, image: "busybox:1"}\n', "")
    kubectl("apply", *mode, "-f", "-", stdin=changed + "---" + GARDEN.replace("length: 3", "length: 4"))
    containers = kubectl.json("get", "deployment", "web")["spec"]["template"]["spec"]["containers"]
    assert [(container["name"], container["image"]) for container in containers] == [("app", "nginx:2")]
    assert kubectl("get", "garden", "rose", "-o", "jsonpath={.spec.paths[0].length}") == "4"


def test_server_side_apply_tells_who_owns_a_field(web: Kubectl) -> None:
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: blue}\n"
    said = web.fails("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=manifest)
    assert 'conflict with "kubectl-create"' in said
    assert ".data.color" in said
    web("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-", stdin=manifest)
    assert web("get", "configmap", "settings", "-o", "jsonpath={.data.color}") == "blue"


def test_apply_prunes_what_is_no_longer_in_the_manifest(kubectl: Kubectl) -> None:
    two = "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{set: a}}}}\n"
        for name in ("one", "two")
    )
    kubectl("apply", "-f", "-", stdin=two)
    prune = ("--prune", "-l", "set=a", "--prune-allowlist=core/v1/ConfigMap")
    kubectl("apply", *prune, "-f", "-", stdin=two.split("---\n")[1])
    assert kubectl("get", "configmap", "-l", "set=a", "-o", "name") == "configmap/one\n"


def test_strict_validation_refuses_unknown_fields(kubectl: Kubectl) -> None:
    wrong = WEB.replace("replicas: 2", "replicaz: 2")
    said = kubectl.fails("create", "--validate=strict", "-f", "-", stdin=wrong)
    assert 'strict decoding error: unknown field "spec.replicaz"' in said
    warned = kubectl.run(
        "apply", "--validate=warn", "-f", "-", stdin=GARDEN.replace("plant: rose", "plant: rose, x: 1")
    )
    assert 'Warning: unknown field "spec.x"' in warned.stderr
    assert warned.returncode == 0


def test_dry_runs_leave_no_trace(kubectl: Kubectl) -> None:
    for mode, output in (("server", "(server dry run)"), ("client", "(dry run)")):
        assert output in kubectl("create", f"--dry-run={mode}", "-f", "-", stdin=GARDEN)
    assert kubectl("get", "gardens", "-o", "name") == ""


def test_get_in_all_formats(web: Kubectl) -> None:
    web("apply", "-f", "-", stdin=GARDEN)
    table = web("get", "deployments")
    assert re.search(r"NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +0/2 +0 +0 +", table)
    assert re.search(r"web .* app,side +nginx:1,busybox:1 +app=web", web("get", "deployments", "-o", "wide"))
    assert re.search(r"NAME +BEDS +PHASE\nrose +1 ", web("get", "gd"))
    assert web("get", "deployment", "web", "-o", "name") == "deployment.apps/web\n"
    assert web.json("get", "deployment", "web")["spec"]["replicas"] == 2
    assert "replicas: 2\n" in web("get", "deployment", "web", "-o", "yaml")
    assert web("get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[*].name}") == "app side"
    columns = web("get", "gardens", "-o", "custom-columns=N:.metadata.name,P:.spec.plant")
    assert columns.split() == ["N", "P", "rose", "rose"]
    assert "rose" in web("get", "gardens", "-o", "go-template={{range .items}}{{.metadata.name}}{{end}}")
    assert {"deployment.apps/web", "garden.clients.kontend.dev/rose"} <= set(web("get", "all", "-o", "name").split())
    assert "settings" in web("get", "configmaps", "--show-labels", "--sort-by=.metadata.name")
    assert "web" in web("get", "deploy", "-A", "-l", "app=web", "--field-selector=metadata.name=web")
    assert "NotFound" in web.fails("get", "deployment", "nope")
    assert web("get", "--raw", "/readyz") == "ok"
    assert '"kind":"GardenList"' in web("get", "--raw", "/apis/clients.kontend.dev/v1/gardens?limit=1").replace(" ", "")


def test_get_watch_follows_changes(web: Kubectl) -> None:
    watching = web.start("get", "configmaps", "settings", "--watch", "-o", 'jsonpath={.data.color}{"\\n"}')
    assert watching.stdout is not None
    try:
        assert watching.stdout.readline() == "red\n"
        web("patch", "configmap", "settings", "-p", '{"data":{"color":"green"}}')
        assert watching.stdout.readline() == "green\n"
    finally:
        watching.kill()
        watching.communicate()


def test_describe_tells_what_there_is(web: Kubectl) -> None:
    web("apply", "-f", "-", stdin=GARDEN)
    output = web("describe", "deployment", "web")
    assert re.search(r"Replicas: +2 desired", output)
    assert re.search(r"Image: +nginx:1", output)
    assert re.search(r"Plant: +rose", web("describe", "garden", "rose"))
    assert "color:" in web("describe", "configmap", "settings")
    assert re.search(r"Status: +Active", web("describe", "namespace", "default"))


def test_explain_shows_fields_and_types(kubectl: Kubectl) -> None:
    output = kubectl("explain", "deployment.spec")
    assert re.search(r"replicas\s+<integer>", output)
    assert re.search(r"selector\s+<LabelSelector> -required-", output)
    assert re.search(r"maxSurge\s+<IntOrString>", kubectl("explain", "deploy.spec.strategy.rollingUpdate"))
    assert "containers" in kubectl("explain", "pod", "--recursive")
    garden = kubectl("explain", "garden.spec")
    assert "What the owner wants." in garden
    assert re.search(r"plant\s+<string> -required-", garden)
    assert re.search(r"paths\s+<\[\]Object>", garden)


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", '{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"nginx:3"}]}}}}'),
        ("merge", '{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"nginx:3"}]}}}}'),
        ("json", '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:3"}]'),
    ],
)
def test_patches_of_each_type(web: Kubectl, kind: str, patch: str) -> None:
    assert web("patch", "deployment", "web", f"--type={kind}", "-p", patch) == "deployment.apps/web patched\n"
    containers = web.json("get", "deployment", "web")["spec"]["template"]["spec"]["containers"]
    assert containers[0]["image"] == "nginx:3"
    assert len(containers) == (1 if kind == "merge" else 2)


def test_edit_by_set_and_replace(web: Kubectl) -> None:
    web("set", "image", "deployment/web", "app=nginx:4")
    web("set", "env", "deployment/web", "-c", "app", "MODE=fast")
    web("set", "resources", "deployment/web", "-c", "app", "--limits=cpu=200m")
    app = web.json("get", "deployment", "web")["spec"]["template"]["spec"]["containers"][0]
    assert (app["image"], app["env"], app["resources"]) == (
        "nginx:4", [{"name": "MODE", "value": "fast"}], {"limits": {"cpu": "200m"}},
    )  # fmt: skip
    old = web("get", "configmap", "settings", "-o", "yaml")
    assert web("replace", "-f", "-", stdin=old.replace("color: red", "color: blue")) == "configmap/settings replaced\n"
    assert "modified" in web.fails("replace", "-f", "-", stdin=old.replace("color: red", "color: green"))


def test_edit_opens_an_editor_and_saves_what_it_leaves(web: Kubectl) -> None:
    web.environment["KUBE_EDITOR"] = "sed -i s/red/violet/"
    assert web("edit", "configmap", "settings") == "configmap/settings edited\n"
    assert web("get", "configmap", "settings", "-o", "jsonpath={.data.color}") == "violet"


def test_label_and_annotate(web: Kubectl) -> None:
    assert web("label", "deployment", "web", "tier=front") == "deployment.apps/web labeled\n"
    assert "already has a value" in web.fails("label", "deployment", "web", "tier=back")
    web("label", "deployment", "web", "tier=back", "--overwrite")
    web("annotate", "deployment", "web", "note=hello")
    metadata = web.json("get", "deployment", "web")["metadata"]
    assert (metadata["labels"]["tier"], metadata["annotations"]["note"]) == ("back", "hello")
    web("label", "deployment", "web", "tier-")
    web("annotate", "deployment", "web", "note-")
    metadata = web.json("get", "deployment", "web")["metadata"]
    assert "tier" not in metadata["labels"]
    assert "note" not in metadata.get("annotations", {})


def test_scale_of_built_in_and_custom_kinds(web: Kubectl) -> None:
    web("apply", "-f", "-", stdin=GARDEN)
    assert web("scale", "deployment", "web", "--current-replicas=2", "--replicas=5") == "deployment.apps/web scaled\n"
    assert "Expected replicas to be 2, was 5" in web.fails(
        "scale", "deploy/web", "--current-replicas=2", "--replicas=1"
    )
    web("scale", "garden", "rose", "--replicas=7")
    assert web("get", "garden", "rose", "-o", "jsonpath={.spec.replicas}") == "7"
    web("autoscale", "deployment", "web", "--min=1", "--max=3")
    assert web.json("get", "hpa", "web")["spec"]["maxReplicas"] == 3


def test_rollout_status_waits_for_the_controller(web: Kubectl) -> None:
    waiting = web.start("rollout", "status", "deployment/web")
    assert waiting.stdout is not None
    assert "Waiting for deployment" in waiting.stdout.readline()
    ready(web, replicas=2)
    rest, _ = waiting.communicate(timeout=30)
    assert 'deployment "web" successfully rolled out' in rest
    assert waiting.returncode == 0


def test_rollout_restart_pause_and_resume(web: Kubectl) -> None:
    web("rollout", "restart", "deployment/web")
    template = web.json("get", "deployment", "web")["spec"]["template"]
    assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]
    web("rollout", "pause", "deployment/web")
    assert web.json("get", "deployment", "web")["spec"]["paused"] is True
    web("rollout", "resume", "deployment/web")
    assert "paused" not in web.json("get", "deployment", "web")["spec"]


@pytest.mark.parametrize(
    ("condition", "happen"),
    [
        ("condition=Available", lambda web: ready(web, replicas=2)),
        ("jsonpath={.status.readyReplicas}=2", lambda web: ready(web, replicas=2)),
        ("delete", lambda web: web("delete", "deployment", "web")),
    ],
    ids=["condition", "jsonpath", "delete"],
)
def test_wait_ends_when_it_happens(web: Kubectl, condition: str, happen: Callable[[Kubectl], None]) -> None:
    waiting = web.start("-v=6", "wait", "deployment/web", f"--for={condition}", "--timeout=30s")
    assert waiting.stdout is not None
    assert any("watch=true" in line for line in waiting.stdout)
    happen(web)
    said, _ = waiting.communicate(timeout=40)
    assert waiting.returncode == 0, said
    assert "deployment.apps/web condition met" in said or condition == "delete"


def test_wait_times_out(web: Kubectl) -> None:
    assert "timed out" in web.fails("wait", "deployment/web", "--for=condition=Available", "--timeout=1s")


@pytest.mark.parametrize(
    ("cascade", "finalizer"), [("foreground", "foregroundDeletion"), ("orphan", "orphan"), ("background", None)]
)
def test_delete_with_each_cascade(web: Kubectl, cascade: str, finalizer: str | None) -> None:
    said = web("delete", "deployment", "web", f"--cascade={cascade}", "--wait=false")
    assert 'deployment.apps "web" deleted' in said
    if finalizer is None:
        assert "NotFound" in web.fails("get", "deployment", "web")
        return
    metadata = web.json("get", "deployment", "web")["metadata"]
    assert metadata["finalizers"] == [finalizer]
    assert metadata["deletionTimestamp"]
    waiting = web.start("delete", "deployment", "web", f"--cascade={cascade}")
    web("patch", "deployment", "web", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    waiting.communicate(timeout=30)
    assert "NotFound" in web.fails("get", "deployment", "web")


def test_delete_by_label_and_by_manifest(web: Kubectl) -> None:
    web("delete", "deployments", "-l", "app=web")
    assert web("get", "deployments", "-o", "name") == ""
    assert 'configmap "settings" deleted' in web("delete", "-f", "-", "--ignore-not-found", stdin=WEB)
    web("delete", "gardens", "--all")


def test_diff_shows_what_apply_would_do(web: Kubectl) -> None:
    for mode in ([], ["--server-side", "--force-conflicts"]):
        done = web.run("diff", *mode, "-f", "-", stdin=WEB.replace("nginx:1", "nginx:9"))
        assert done.returncode == 1, done.stderr
        assert re.search(r"^- +(- )?image: nginx:1$", done.stdout, re.MULTILINE)
        assert re.search(r"^\+ +(- )?image: nginx:9$", done.stdout, re.MULTILINE)
    web("apply", "-f", "-", stdin=GARDEN)
    assert web("diff", "-f", "-", stdin=GARDEN) == ""


def test_create_and_expose_by_command(web: Kubectl) -> None:
    web("create", "secret", "generic", "key", "--from-literal=a=b")
    assert web("get", "secret", "key", "-o", "jsonpath={.data.a}") == "Yg=="
    web("create", "serviceaccount", "robot")
    web("create", "role", "reader", "--verb=get,list", "--resource=pods")
    web("create", "rolebinding", "reads", "--role=reader", "--serviceaccount=default:robot")
    web("create", "job", "once", "--image=busybox", "--", "true")
    web("create", "cronjob", "often", "--image=busybox", "--schedule=* * * * *")
    web("expose", "deployment", "web", "--port=80")
    assert web.json("get", "service", "web")["spec"]["selector"] == {"app": "web"}
    web("run", "alone", "--image=busybox", "--restart=Never")
    assert re.search(r"alone +0/1 +Pending", web("get", "pods"))
    assert "NAMESPACE" not in web("get", "jobs,cronjobs,services,secrets,roles")


def test_events_and_namespaces(kubectl: Kubectl) -> None:
    assert "No events found" in kubectl.run("events").stderr
    kubectl("create", "namespace", "short-lived-" + kubectl.namespace)
    assert "Active" in kubectl("get", "namespace", "short-lived-" + kubectl.namespace)


def test_a_new_definition_is_served_and_explained_at_once(kubectl: Kubectl) -> None:
    group = f"{kubectl.namespace}.{kubectl.kind}.example.com"
    definition = CRDS.read_text().replace("clients.kontend.dev", group)
    kubectl("apply", "-f", "-", stdin=definition)
    kubectl("wait", "--for=condition=Established", f"crd/gardens.{group}", "--timeout=20s")
    kubectl("apply", "-f", "-", stdin=GARDEN.replace("clients.kontend.dev", group))
    assert kubectl("get", f"gardens.{group}", "-o", "name") == f"garden.{group}/rose\n"
    assert "What grows there." in kubectl("explain", f"gardens.{group}.spec.plant")
    assert "deleted" in kubectl("delete", "crd", f"gardens.{group}")
    assert "the server doesn't have a resource type" in kubectl.fails("get", f"gardens.{group}")
