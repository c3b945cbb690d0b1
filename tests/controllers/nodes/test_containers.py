"""Containers end, fail, restart and become ready as their commands and probes say."""

from __future__ import annotations

from typing import Any

from controllers.harness import JOBS, PODS, job
from kontend import Cluster
from kontend.controllers import controllers, pod_controllers
from kontend.controllers.process import ControllerProcess
from kontend.kube.json_types import Json


class _Nodes:
    """A cluster whose nodes follow commands."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.process = ControllerProcess(self.cluster, controllers() + pod_controllers(commands=True), clock=None)
        self.cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})

    def pod(self, script: str, *, seconds: float = 0, policy: str = "Never", **spec: Any) -> Json:
        """Create a pod and return its status after a while."""
        main = {"name": "c", "image": "any", "command": ["sh", "-c", script], **spec.pop("container", {})}
        body = {"containers": [main], "restartPolicy": policy, **spec}
        self.cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": body})
        return self.after(seconds)

    def after(self, seconds: float) -> Json:
        """Let time pass; the status of the pod."""
        self.process.settle(seconds=seconds)
        status: Json = self.cluster.get(PODS, "p")["status"]
        return status


def _conditions(status: Json) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in status["conditions"]}


def test_a_pod_succeeds_or_fails_with_its_command() -> None:
    """The exit code is that of the script."""
    for script, phase, code in (("exit 0", "Succeeded", 0), ("exit 3", "Failed", 3)):
        status = _Nodes().pod(script)
        assert (status["phase"], status["containerStatuses"][0]["state"]["terminated"]["exitCode"]) == (phase, code)
        assert _conditions(status)["Ready"] == "False"


def test_a_pod_runs_until_its_command_ends() -> None:
    """It is ready meanwhile."""
    nodes = _Nodes()
    status = nodes.pod("sleep 60", seconds=5)
    assert (status["phase"], _conditions(status)["Ready"]) == ("Running", "True")
    assert nodes.after(100)["phase"] == "Succeeded"


def test_busybox_without_a_command_ends() -> None:
    """Unless it would be restarted for ever."""
    image = {"command": None, "image": "registry/busybox:1.37"}
    assert _Nodes().pod("", container=image)["phase"] == "Succeeded"
    assert _Nodes().pod("", policy="Always", container=image)["phase"] == "Running"


def test_what_is_not_understood_runs_on() -> None:
    """As every pod does without a command."""
    assert _Nodes().pod("serve --forever", seconds=10_000)["phase"] == "Running"


def test_a_container_is_restarted_with_growing_pauses() -> None:
    """Its volumes are kept, its own files are not."""
    nodes = _Nodes()
    status = nodes.pod("exit 1", policy="Always", seconds=20)
    container = status["containerStatuses"][0]
    assert (status["phase"], container["restartCount"]) == ("Running", 4)
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert container["lastState"]["terminated"]["exitCode"] == 1


def test_files_of_a_volume_outlive_the_container() -> None:
    """A script that fails once succeeds at its second run, and its own files are new."""
    mounted = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    script = (
        "if [ -f /tmp/own ]; then exit 9; fi; touch /tmp/own; if [ -f /data/x ]; then exit 0; fi; touch /data/x; exit 1"
    )
    volumes = [{"name": "data", "emptyDir": {}}]
    status = _Nodes().pod(script, policy="OnFailure", seconds=10, container=mounted, volumes=volumes)
    assert (status["phase"], status["containerStatuses"][0]["restartCount"]) == ("Succeeded", 1)


def test_init_containers_come_first() -> None:
    """One after the other; while one fails, the pod is pending and says which are incomplete."""
    first = {"name": "one", "image": "any", "command": ["sleep", "5"]}
    second = {"name": "two", "image": "any", "command": ["false"]}
    nodes = _Nodes()
    status = nodes.pod("exit 0", policy="Always", initContainers=[first, second], seconds=1)
    assert status["phase"] == "Pending"
    initialized = next(condition for condition in status["conditions"] if condition["type"] == "Initialized")
    assert initialized["message"] == "containers with incomplete status: [one two]"
    status = nodes.after(20)
    assert status["phase"] == "Pending"
    assert [entry["restartCount"] for entry in status["initContainerStatuses"]] == [0, 4]
    assert status["containerStatuses"][0]["state"]["waiting"]["reason"] == "PodInitializing"


def test_a_failed_init_container_fails_a_pod_that_never_restarts() -> None:
    """The others do not begin."""
    first = {"name": "one", "image": "any", "command": ["false"]}
    assert _Nodes().pod("exit 0", initContainers=[first])["phase"] == "Failed"


def test_readiness_follows_a_command() -> None:
    """The probe looks at the files of the container."""
    probe = {"exec": {"command": ["cat", "/tmp/ready"]}, "periodSeconds": 5}
    nodes = _Nodes()
    script = "sleep 30; touch /tmp/ready; sleep 30; rm /tmp/ready; sleep 100"
    assert _conditions(nodes.pod(script, seconds=10, container={"readinessProbe": probe}))["Ready"] == "False"
    assert _conditions(nodes.after(30))["Ready"] == "True"
    assert _conditions(nodes.after(30))["Ready"] == "False"


def test_a_container_that_fails_its_liveness_probe_is_restarted() -> None:
    """After the number of failures that the probe allows."""
    probe = {"exec": {"command": ["cat", "/tmp/health"]}, "periodSeconds": 5, "failureThreshold": 1}
    script = "echo ok >/tmp/health; sleep 10; rm -rf /tmp/health; sleep 600"
    status = _Nodes().pod(script, policy="Always", seconds=18, container={"livenessProbe": probe})
    container = status["containerStatuses"][0]
    assert (container["restartCount"], container["lastState"]["terminated"]["exitCode"]) == (1, 137)


def test_a_server_that_is_known_fails_its_probe() -> None:
    """That of the image ``agnhost`` which answers with errors after a while; at another port nothing answers."""
    image = {"command": None, "image": "registry/agnhost:2.59", "args": ["liveness"]}
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 5, "failureThreshold": 1}
    status = _Nodes().pod("", policy="Always", seconds=14, container={**image, "livenessProbe": probe})
    assert status["containerStatuses"][0]["restartCount"] == 1
    other = {"httpGet": {"path": "/", "port": 80}}
    status = _Nodes().pod("", policy="Always", seconds=14, container={**image, "readinessProbe": other})
    assert _conditions(status)["Ready"] == "False"


def test_the_last_words_of_a_container_are_in_its_status() -> None:
    """From its file, or from its output where the policy says so and it has failed."""
    assert _message(_Nodes().pod("echo -n DONE > /dev/termination-log")) == "DONE"
    policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    assert _message(_Nodes().pod("echo -n BAD; exit 1", container=policy)) == "BAD"
    assert _message(_Nodes().pod("echo -n FINE", container=policy)) is None


def _message(status: Json) -> str | None:
    message: str | None = status["containerStatuses"][0]["state"]["terminated"].get("message")
    return message


def test_what_a_user_reports_about_a_pod_without_a_command_stays() -> None:
    """The kubelet does not correct it."""
    nodes = _Nodes()
    nodes.pod("", container={"command": None})
    unready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    nodes.cluster.patch(PODS, "p", unready, subresource="status")
    assert _conditions(nodes.after(100)) == {"Ready": "False"}


def test_a_job_completes_by_the_index_of_its_pods() -> None:
    """The index is an environment variable of the pod, which comes from an annotation."""
    nodes = _Nodes()
    odd = "if [ $(expr ${JOB_COMPLETION_INDEX} % 2) -ne 0 ]; then exit 1; else exit 0; fi"
    made = job(completions=4, parallelism=4, completionMode="Indexed", backoffLimitPerIndex=0)
    made["spec"]["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", odd]
    nodes.cluster.create(made)
    nodes.process.settle(seconds=30)
    status = nodes.cluster.get(JOBS, "work")["status"]
    assert (status["completedIndexes"], status["failedIndexes"]) == ("0,2", "1,3")
