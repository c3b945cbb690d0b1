"""A controller on the official Python client: it lists, then watches. Each Widget has a ConfigMap and a status.

Bug: the status is written first, and the ConfigMap is made only while there is none.
"""

from __future__ import annotations

import os
import time
from typing import Any

from kubernetes import client, config, watch
from urllib3.exceptions import HTTPError

BUG = os.environ.get("BUG", "")
WIDGETS = {"group": "live.kontend.dev", "version": "v1", "plural": "widgets", "namespace": "default"}


def reconcile(core: Any, custom: Any, widget: dict[str, Any]) -> None:
    """Make the ConfigMap, and report."""
    name, there = widget["metadata"]["name"], bool(widget.get("status"))
    if BUG and there:
        return
    if BUG:
        custom.patch_namespaced_custom_object_status(**WIDGETS, name=name, body={"status": {"phase": "Ready"}})
    child = {"metadata": {"name": f"{name}-config"}, "data": {"size": str(widget["spec"]["size"])}}
    try:
        core.create_namespaced_config_map("default", child)
    except client.ApiException as error:
        if error.status != 409:
            raise
        core.patch_namespaced_config_map(f"{name}-config", "default", child)
    if not there:
        custom.patch_namespaced_custom_object_status(**WIDGETS, name=name, body={"status": {"phase": "Ready"}})


def retried(core: Any, custom: Any, widget: dict[str, Any]) -> None:
    """Reconcile until it works, or the Widget is gone."""
    while True:
        try:
            return reconcile(core, custom, widget)
        except client.ApiException as error:
            if error.status == 404:
                return None
        except HTTPError:
            pass
        time.sleep(0.05)


def main() -> None:
    """Run forever."""
    config.load_kube_config(os.environ["KUBECONFIG"])
    core, custom = client.CoreV1Api(), client.CustomObjectsApi()
    while True:
        listed = custom.list_namespaced_custom_object(**WIDGETS)
        for widget in listed["items"]:
            retried(core, custom, widget)
        version = listed["metadata"]["resourceVersion"]
        try:
            for event in watch.Watch().stream(
                custom.list_namespaced_custom_object, **WIDGETS, resource_version=version
            ):
                if event["type"] in ("ADDED", "MODIFIED"):
                    retried(core, custom, event["object"])
        except client.ApiException:
            continue  # the watch has expired


if __name__ == "__main__":
    main()
