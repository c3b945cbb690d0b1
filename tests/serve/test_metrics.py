"""``/metrics`` in the text format of Prometheus, under the names of kube-apiserver."""

from __future__ import annotations

from kontend.serve.background import BackgroundServer
from serve.wire import CONFIG_MAPS, Client, watching


def test_requests_watches_and_objects_are_counted(kontend_server: BackgroundServer, client: Client) -> None:
    client.create("c", a="1")
    client.create("c", a="1")
    client.get(CONFIG_MAPS)
    with watching(kontend_server.url, CONFIG_MAPS) as events:
        next(events)
        answer = client.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = answer.raw.decode().splitlines()
    labels = 'component="apiserver",dry_run="",group="",resource="configmaps",scope="namespace",subresource="",'
    assert f'apiserver_request_total{{code="201",{labels}verb="POST",version="v1"}} 1' in lines
    assert f'apiserver_request_total{{code="409",{labels}verb="POST",version="v1"}} 1' in lines
    assert f'apiserver_request_duration_seconds_count{{{labels}verb="LIST",version="v1"}} 1' in lines
    assert 'apiserver_longrunning_requests{component="apiserver",verb="WATCH"} 1' in lines
    assert 'apiserver_storage_objects{resource="configmaps"} 1' in lines
    assert "# TYPE apiserver_request_duration_seconds histogram" in lines
