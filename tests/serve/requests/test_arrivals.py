"""Pods of a new namespace wait for its default service account, as those of kube-apiserver do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from kontend import Cluster
from kontend.cluster.admission.plugins import SERVICE_ACCOUNT
from kontend.cluster.effects import Expected, Waiting
from kontend.cluster.request import ApiRequest
from kontend.cluster.state import State
from kontend.kube.encoding.json_text import canonical
from kontend.kube.meta.names import Key
from kontend.serve.background import BackgroundServer
from kontend.serve.requests.arrivals import Arrivals
from serve.wire import Client, process, watching

ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
SPEC = {"containers": [{"name": "c", "image": "i"}]}
PODS = "/api/v1/namespaces/default/pods"


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {**SPEC, **spec}}


def with_accounts() -> State:
    """A cluster whose pods need service accounts, and that has none."""
    state = Cluster().state
    return state.replace(settings=replace(state.settings, plugins=frozenset({SERVICE_ACCOUNT})))


@pytest.fixture
def running() -> Iterator[BackgroundServer]:
    with BackgroundServer(with_accounts()) as server:
        yield server


def suspended(running: BackgroundServer, name: str = "p") -> Waiting:
    """The creation of a pod that waits."""
    request = ApiRequest("POST", PODS, body=canonical(pod(name)))
    with pytest.raises(Waiting) as waiting:
        running.call(running.server.request, request)
    return waiting.value


def test_pods_wait_for_the_account_while_other_requests_go_on(running: BackgroundServer) -> None:
    waiting = [suspended(running, name) for name in ("p", "q")]
    other = running.cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    account = running.cluster.create(ACCOUNT)
    created = [running.wait_for(each.response) for each in waiting]
    assert [answer.code for answer in created] == [201, 201]
    assert {answer.body["spec"]["serviceAccountName"] for answer in created} == {"default"}
    versions = [int(each["metadata"]["resourceVersion"]) for each in (other, account, *(a.body for a in created))]
    assert versions == sorted(versions)


def test_a_pod_is_refused_when_the_account_does_not_come(
    running: BackgroundServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kontend.cluster.admission.plugins._PATIENCE", 0.0)
    answer = running.wait_for(suspended(running).response)
    assert answer.code == 403
    missing = 'error looking up service account default/default: serviceaccount "default" not found'
    assert answer.body["message"] == f'pods "p" is forbidden: {missing}'


def test_only_the_default_account_is_waited_for(running: BackgroundServer) -> None:
    with Client(running.url) as client:
        answer = client.send("POST", PODS, pod(serviceAccountName="mine"))
    assert answer.code == 403
    assert 'serviceaccount "mine" not found' in answer.json["message"]


def test_a_server_that_stops_does_not_wait_for_objects() -> None:
    with BackgroundServer(with_accounts()) as running:
        waiting = suspended(running)
    assert isinstance(waiting.response, asyncio.Future)
    assert not waiting.response.done()


def test_over_http_it_does_not_matter_whether_the_account_is_first(running: BackgroundServer) -> None:
    def send(path: str, body: dict[str, Any]) -> int:
        with Client(running.url) as client:
            return client.send("POST", path, body).code

    with ThreadPoolExecutor() as pool:
        created = pool.submit(send, PODS, pod())
        account = pool.submit(send, "/api/v1/namespaces/default/serviceaccounts", ACCOUNT)
    assert (created.result(), account.result()) == (201, 201)


def test_an_object_that_is_there_is_not_waited_for() -> None:
    cluster = Cluster(objects=[ACCOUNT])
    expected = Expected("serviceaccounts", Key("default", "default"), 3600.0)

    async def wait() -> None:
        async with asyncio.timeout(0):
            await Arrivals().wait(expected, cluster.state)

    asyncio.run(wait())


def test_what_nobody_waits_for_is_forgotten() -> None:
    cluster = Cluster()
    before = cluster.state
    cluster.create(ACCOUNT)
    arrivals = Arrivals()
    key = Key("default", "default")

    async def wait() -> None:
        await arrivals.wait(Expected("serviceaccounts", key, 0.0), before)
        assert len(arrivals) == 0
        second = asyncio.create_task(arrivals.wait(Expected("serviceaccounts", key, 3600.0), before))
        await asyncio.sleep(0)
        arrivals.notice(before)
        assert len(arrivals) == 1
        arrivals.notice(cluster.state)
        await second
        assert len(arrivals) == 0

    asyncio.run(wait())


def test_pods_can_be_created_at_once_in_a_new_namespace() -> None:
    """By clients and by controllers: the controller of service accounts comes in between each time."""
    with process("--controllers") as server, Client(server.url) as client:
        for number in range(20):
            namespace = f"n{number}"
            assert client.send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}).code == 201
            created = client.send("POST", f"/api/v1/namespaces/{namespace}/pods", pod())
            assert (created.code, created.json["spec"].get("serviceAccountName")) == (201, "default")
        assert client.send("POST", "/api/v1/namespaces", {"metadata": {"name": "last"}}).code == 201
        template = {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        path = "/apis/apps/v1/namespaces/last/replicasets"
        with watching(server.url, "/api/v1/namespaces/last/pods") as events:
            assert client.send("POST", path, {"metadata": {"name": "r"}, "spec": spec}).code == 201
            assert next(events)["object"]["metadata"]["name"].startswith("r-")
