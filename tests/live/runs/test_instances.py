"""Instances of the command and how they reach the server; controllers inside of it."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

import pytest

from kontend import Cluster
from kontend.live.gate.perturbation import Fail
from kontend.live.gate.plan import Plan, plan_of
from kontend.live.runs.run import carry_out
from kontend.live.runs.setting import PRIMARY
from kontend.serve.credentials.tls import certificates
from kontend.serve.server import Server
from live.conftest import python, setting

#: Creates a ConfigMap over TLS, as often as it must, with what the kubeconfig says.
PROGRAM = """
import base64, json, os, ssl, time, urllib.error, urllib.request, yaml
config = yaml.safe_load(open(os.environ["KUBECONFIG"]))
cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}).encode()
headers = {"Authorization": f"Bearer {user['token']}", "Content-Type": "application/json"}
url = f"{cluster['server']}/api/v1/namespaces/default/configmaps"
for _ in range(2):
    try:
        urllib.request.urlopen(urllib.request.Request(url, body, headers), context=context)
        break
    except urllib.error.HTTPError as error:
        print("refused with", error.code, flush=True)
time.sleep(100)
"""


def test_requests_over_tls_are_perturbed_like_others() -> None:
    given = replace(setting([sys.executable, "-c", PROGRAM]), tls=certificates("127.0.0.1"))
    at = {"verb": "create", "resource": "configmaps", "namespace": "default", "name": "c"}
    plan = plan_of({"perturbations": [{"do": "fail", "error": "500", "at": at}]})
    assert isinstance(plan.perturbations[0], Fail)
    run = asyncio.run(carry_out(given, plan))
    assert run.outputs[PRIMARY] == "refused with 500\n"
    assert [str(request.call) for request in run.log.writes()] == ["create configmaps default/c"]
    assert asyncio.run(carry_out(given, Plan(()))).outputs[PRIMARY] == ""


class Failing:
    """A controller of the cluster that fails until it has tried a number of times."""

    def __init__(self, server: Server, attempts: int) -> None:
        self._server = server
        self._attempts = attempts
        self.tried = 0

    @property
    def fails(self) -> bool:
        return self.tried < self._attempts

    def retry(self) -> None:
        self.tried += 1
        if not self.fails:
            self._server.cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "done"}})


@pytest.mark.parametrize(("attempts", "tried", "left"), [(1, 1, ["done"]), (9, 2, [])])
def test_the_clusters_own_controllers_try_again_before_a_run_ends(attempts: int, tried: int, left: list[str]) -> None:
    """They back off for minutes when a webhook was down, and some fail for ever."""
    made: list[Failing] = []

    def inside(server: Server) -> Failing:
        made.append(Failing(server, attempts))
        return made[0]

    run = asyncio.run(carry_out(replace(setting(python("plain.py")), inside=inside), Plan(())))
    assert made[0].tried == tried
    assert [obj["metadata"]["name"] for obj in Cluster(state=run.final).list("ConfigMap/v1")] == left
