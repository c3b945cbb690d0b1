"""Commands that believe that they run in a pod."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kontend import Cluster
from kontend.live.gate.plan import Plan
from kontend.live.process import pod_files
from kontend.live.runs.in_cluster import InCluster
from kontend.live.runs.run import carry_out
from kontend.live.runs.setting import PRIMARY, SECOND
from live.conftest import can_mount, setting

#: Reads the files of its service account, and its Pod over TLS.
PROGRAM = """
import json, os, ssl, time, urllib.request
from pathlib import Path
files = Path("/var/run/secrets/kubernetes.io/serviceaccount")
context = ssl.create_default_context(cafile=files / "ca.crt")
server = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
namespace = (files / "namespace").read_text()
url = f"{server}/api/v1/namespaces/{namespace}/pods/{os.environ['POD_NAME']}"
request = urllib.request.Request(url, headers={"Authorization": f"Bearer {(files / 'token').read_text()}"})
pod = json.load(urllib.request.urlopen(request, context=context))
print("I am", pod["metadata"]["namespace"], pod["metadata"]["name"], flush=True)
time.sleep(100)
"""


@pytest.mark.skipif(not can_mount(), reason="no mount namespaces on this machine")
def test_a_command_in_a_cluster_finds_its_service_account_and_its_pod_and_the_machine_is_unchanged() -> None:
    was_there = Path(pod_files.SERVICE_ACCOUNT).exists()
    given = setting([sys.executable, "-c", PROGRAM])
    inside = InCluster("system")
    cluster = Cluster(state=given.workload.state)
    for obj in inside.objects((PRIMARY, SECOND)):
        cluster.create(obj)
    given = replace(given, in_cluster=inside, workload=replace(given.workload, state=cluster.state))
    run = asyncio.run(carry_out(given, Plan(())))
    assert run.outputs[PRIMARY] == "I am system controller\n"
    assert [str(request.call) for request in run.log.requests()] == ["get pods system/controller"]
    assert Path(pod_files.SERVICE_ACCOUNT).exists() == was_there
