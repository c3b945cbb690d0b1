"""Instances of the command: how they reach the server."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

from kontend.live.gate.perturbation import Fail
from kontend.live.gate.plan import Plan, plan_of
from kontend.live.runs.run import carry_out
from kontend.live.runs.setting import PRIMARY
from kontend.serve.credentials.tls import certificates
from live.conftest import setting

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
