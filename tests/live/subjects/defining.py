"""A controller that installs the definition of its kind when it starts: each Gadget has a ConfigMap."""

from __future__ import annotations

import queue
import threading
import urllib.error

from plain import Client, put_child, watch  # type: ignore[import-not-found,unused-ignore]

GROUP = "gadgets.kontend.dev"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"gadgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "Gadget", "plural": "gadgets"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


def main() -> None:
    """Run forever."""
    client = Client()
    put_child(client, {"metadata": {"name": "installing"}, "data": {"what": "definitions"}})
    try:
        client("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise
    gadgets: dict[str, object] = {}
    changed: queue.Queue[str] = queue.Queue()
    path = f"/apis/{GROUP}/v1/gadgets"
    threading.Thread(target=watch, args=(client, path, gadgets, changed), daemon=True).start()
    while True:
        name = changed.get()
        put_child(client, {"metadata": {"name": name}, "data": {"made": "yes"}})


if __name__ == "__main__":
    main()
