"""Events of the built-in controllers, and what pods answer to who wants in."""

from __future__ import annotations

from typing import Any

from serve.wire import Client, process, watching

DEPLOYMENT: dict[str, Any] = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "image": "app:1"}]},
        },
    },
}


def test_controllers_the_scheduler_and_the_kubelet_tell_what_they_do() -> None:
    with process("--controllers", "--pods") as server, Client(server.url) as client:
        client.send("POST", "/apis/apps/v1/namespaces/default/deployments", DEPLOYMENT)
        reported: dict[str, Any] = {}
        with watching(server.url, "/api/v1/namespaces/default/events") as events:
            for event in events:
                reported[event["object"]["reason"]] = event["object"]
                if "Started" in reported:
                    break
        [pod] = client.get("/api/v1/namespaces/default/pods").json["items"]
        name = pod["metadata"]["name"]
        replica_set = name.rpartition("-")[0]
        assert reported["ScalingReplicaSet"]["message"] == f"Scaled up replica set {replica_set} from 0 to 1"
        assert reported["ScalingReplicaSet"]["involvedObject"]["kind"] == "Deployment"
        assert reported["ScalingReplicaSet"]["source"] == {"component": "deployment-controller"}
        assert reported["SuccessfulCreate"]["message"] == f"Created pod: {name}"
        assert reported["Scheduled"]["message"] == f"Successfully assigned default/{name} to node-1"
        assert reported["Started"]["message"] == "Started container app"
        assert reported["Started"]["involvedObject"]["fieldPath"] == "spec.containers{app}"
        assert reported["Started"]["source"] == {"component": "kubelet", "host": "node-1"}
        log = client.get(f"/api/v1/namespaces/default/pods/{name}/log")
        assert (log.code, log.json["message"]) == (
            400,
            f"nothing runs in the pods of kontend: there are no logs in pod {name}",
        )
        executed = client.send("POST", f"/api/v1/namespaces/default/pods/{name}/exec?command=ls")
        assert "nothing can be executed" in executed.json["message"]


def test_a_schedule_that_never_comes_is_told() -> None:
    cron_job = {
        "metadata": {"name": "pi"},
        "spec": {
            "schedule": "59 23 31 2 *",
            "jobTemplate": {"spec": {"template": DEPLOYMENT["spec"]["template"] | {}}},
        },
    }
    cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"  # type: ignore[index]
    with process("--controllers") as server, Client(server.url) as client:
        made = client.send("POST", "/apis/batch/v1/namespaces/default/cronjobs", cron_job)
        assert made.code == 201, made.json
        with watching(server.url, "/api/v1/namespaces/default/events") as events:
            event = next(event["object"] for event in events if event["object"]["reason"] == "InvalidSchedule")
        assert (event["type"], event["involvedObject"]["kind"]) == ("Warning", "CronJob")
