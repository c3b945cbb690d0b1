"""A controller on nothing but HTTP: each Widget has a ConfigMap and a status. One switch for each planted bug.

Bugs, by the value of BUG:

- ``crash``: the status is written before the ConfigMap, and the ConfigMap is made only while there is no status.
- ``unlocked``: the status is written without a lock.
- ``late``: the answer to the write of the status goes into the cache, however old it is.
- ``ignored``: a conflict with the ConfigMap is taken for success. The event of the status, which is written next, makes
  up for it once.

With OWNED the ConfigMap has the Widget as its owner; with LAZY, ConfigMaps are watched from the first Widget on. With
RETRY, failed reconciles are repeated after so many seconds. With OLD, the first list may be old.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import urllib.error
import urllib.request
from typing import Any

import yaml

GROUP = "/apis/live.kontend.dev/v1"
BUG = os.environ.get("BUG", "")


class Client:
    """Requests to the server of the kubeconfig."""

    def __init__(self) -> None:
        with open(os.environ["KUBECONFIG"], encoding="utf-8") as file:
            config = yaml.safe_load(file)
        self.url = config["clusters"][0]["cluster"]["server"]

    def open(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Send a request."""
        headers = {"Content-Type": kind}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        return urllib.request.urlopen(request)

    def __call__(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Send a request and return the object in the answer."""
        with self.open(method, path, body, kind) as answer:
            return json.load(answer)


def watch(client: Client, path: str, cache: dict[str, Any], changed: queue.Queue[str], oldest: str = "") -> None:
    """Keep a cache up to date, and report the names of what has changed. Lists are at least as new as ``oldest``."""
    while True:
        found = client("GET", f"{path}?resourceVersion={oldest}" if oldest else path)
        for name in set(cache) - {item["metadata"]["name"] for item in found["items"]}:
            del cache[name]
            changed.put(name)
        for item in found["items"]:
            cache[item["metadata"]["name"]] = item
            changed.put(item["metadata"]["name"])
        version = found["metadata"]["resourceVersion"]
        with client.open("GET", f"{path}?watch=1&resourceVersion={version}") as events:
            for line in events:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    break
                name = event["object"]["metadata"]["name"]
                if event["type"] == "DELETED":
                    cache.pop(name, None)
                else:
                    cache[name] = event["object"]
                changed.put(name)


def reconcile(client: Client, widgets: dict[str, Any], name: str) -> None:
    """Make the ConfigMap of a widget, and report."""
    widget = widgets.get(name)
    if widget is None:
        return
    child: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-config"}}
    child["data"] = {"size": str(widget["spec"]["size"])}
    if "OWNED" in os.environ:
        owner = {"apiVersion": "live.kontend.dev/v1", "kind": "Widget", "name": name, "uid": widget["metadata"]["uid"]}
        child["metadata"]["ownerReferences"] = [owner]
    status = {"phase": "Ready", "size": widget["spec"]["size"]}
    path = f"{GROUP}/namespaces/default/widgets/{name}"
    if BUG == "crash":
        if "status" not in widget:
            put_status(client, path, widget, status)
            put_child(client, child)
        return
    put_child(client, child)
    if (widget.get("status") or {}) != status:
        written = put_status(client, path, widget, status)
        if BUG == "late":
            widgets[name] = written


def put_status(client: Client, path: str, widget: dict[str, Any], status: dict[str, Any]) -> Any:
    """Write the status, and return the answer."""
    if BUG == "unlocked":
        return client("PATCH", f"{path}/status", {"status": status}, "application/merge-patch+json")
    return client("PUT", f"{path}/status", {**widget, "status": status})


def put_child(client: Client, child: dict[str, Any]) -> None:
    """Create or update the child."""
    children = "/api/v1/namespaces/default/configmaps"
    path = f"{children}/{child['metadata']['name']}"
    try:
        there = client("GET", path)
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        client("POST", children, child)
        return
    if there["data"] != child["data"]:
        try:
            client("PUT", path, {**there, "data": child["data"]})
        except urllib.error.HTTPError as error:
            if error.code != 409 or BUG != "ignored":
                raise


def main() -> None:
    """Run forever."""
    client = Client()
    widgets: dict[str, Any] = {}
    changed: queue.Queue[str] = queue.Queue()
    oldest = "0" if "OLD" in os.environ else ""
    threading.Thread(target=watch, args=(client, f"{GROUP}/widgets", widgets, changed, oldest), daemon=True).start()
    configs: list[dict[str, Any]] = []
    retry: dict[str, int] = {}
    while True:
        name = changed.get()
        if "LAZY" in os.environ and not configs:
            configs.append({})
            path = "/api/v1/namespaces/default/configmaps"
            threading.Thread(target=watch, args=(client, path, configs[0], queue.Queue()), daemon=True).start()
        try:
            reconcile(client, widgets, name)
            retry.pop(name, None)
        except (urllib.error.URLError, OSError) as error:
            sys.stderr.write(f"{name}: {error}\n")
            retry[name] = retry.get(name, 0) + 1
            delay = float(os.environ.get("RETRY") or min(0.005 * 2 ** retry[name], 1))
            threading.Timer(delay, changed.put, [name]).start()


if __name__ == "__main__":
    main()
