"""A controller on nothing but HTTP: each Widget has a ConfigMap with its data, which a finalizer removes with it.

Lists may be old (``resourceVersion=0``), as those of informers are. Failed reconciles are repeated after 0.1 s, however
often.

Bug: the ConfigMap is removed by its name, also if it is that of a later Widget of the same name.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import urllib.error
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from plain import GROUP, Client, watch  # type: ignore[import-not-found,unused-ignore]

BUG = os.environ.get("BUG", "")
FINALIZER = "live.kontend.dev/store"
MAPS = "/api/v1/namespaces/default/configmaps"


def reconcile(client: Client, widget: dict[str, Any]) -> None:
    """Make the ConfigMap, or remove it."""
    metadata = widget["metadata"]
    path, uid, finalizers = f"{MAPS}/{metadata['name']}-store", metadata["uid"], metadata.get("finalizers", [])
    if "deletionTimestamp" not in metadata:
        if FINALIZER not in finalizers:
            return put_finalizers(client, widget, [*finalizers, FINALIZER])
        if find(client, path) is None:
            owner = {"apiVersion": "live.kontend.dev/v1", "kind": "Widget", "name": metadata["name"], "uid": uid}
            store = {"name": f"{metadata['name']}-store", "ownerReferences": [owner]}
            client("POST", MAPS, {"metadata": store, "data": {"made": "true"}})
        return None
    if FINALIZER not in finalizers:
        return None
    there = find(client, path)
    if there is not None and (BUG or there["metadata"]["ownerReferences"][0]["uid"] == uid):
        client("DELETE", path, {"preconditions": {"uid": there["metadata"]["uid"]}})
    return put_finalizers(client, widget, [name for name in finalizers if name != FINALIZER])


def put_finalizers(client: Client, widget: dict[str, Any], finalizers: list[str]) -> None:
    """Write the finalizers of the version that was read."""
    path = f"{GROUP}/namespaces/default/widgets/{widget['metadata']['name']}"
    client("PUT", path, {**widget, "metadata": {**widget["metadata"], "finalizers": finalizers}})


def find(client: Client, path: str) -> Any:
    """Read an object, or None."""
    try:
        return client("GET", path)
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return None


def main() -> None:
    """Run forever."""
    client = Client()
    widgets: dict[str, Any] = {}
    changed: queue.Queue[str] = queue.Queue()
    path = f"{GROUP}/widgets"
    threading.Thread(target=watch, args=(client, path, widgets, changed, "0"), daemon=True).start()
    while True:
        name = changed.get()
        try:
            if name in widgets:
                reconcile(client, widgets[name])
        except (urllib.error.URLError, OSError) as error:
            sys.stderr.write(f"{name}: {error}\n")
            threading.Timer(0.1, changed.put, [name]).start()


if __name__ == "__main__":
    main()
