"""The operator of tests/live/go once more, on kopf: six planted bugs, one switch for each (BUG=NAME).

tls       two Secrets, the second one made from the first           (crash between two creates)
worker    a Secret that the status refers to                        (lost response, duplicate create)
size      numbered ConfigMaps                                       (skipped intermediate version)
settings  a Secret that follows the spec                            (hand-over, late write)
ready     a condition in a list that others write to, too           (lost status update)
part      a ConfigMap of the user's, removed when nobody needs it   (stale read, then delete)
"""

from __future__ import annotations

import base64
import os
import sys
import urllib.error
from pathlib import Path
from typing import Any

import kopf

sys.path.insert(0, str(Path(__file__).parent))
from plain import GROUP, Client  # type: ignore[import-not-found,unused-ignore]

BUG = os.environ.get("BUG", "")
WIDGETS = ("live.kontend.dev", "v1", "widgets")
RETRY: dict[str, Any] = {"backoff": 0.05}
MERGE = "application/merge-patch+json"
client = Client()


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Write no events, which do not matter here."""
    settings.posting.enabled = False
    settings.networking.error_backoffs = [0.05, 0.1, 0.2]


def path(kind: str, namespace: str, name: str = "") -> str:
    """The path of a Secret or ConfigMap, or of all."""
    return f"/api/v1/namespaces/{namespace}/{kind}{'/' if name else ''}{name}"


def create(kind: str, namespace: str, child: dict[str, Any], *, may_exist: bool = True) -> Any:
    """Create a child of the object that is being handled; one that is there already is as good."""
    kopf.adopt(child)
    try:
        return client("POST", path(kind, namespace), child)
    except urllib.error.HTTPError as error:
        if error.code != 409 or not may_exist:
            raise
        return None


def find(kind: str, namespace: str, name: str) -> Any:
    """Read an object, or None."""
    try:
        return client("GET", path(kind, namespace, name))
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return None


@kopf.on.create(*WIDGETS, field="spec.tls", **RETRY)
def tls(name: str, namespace: str, **_: Any) -> None:
    """Make the two Secrets. Bug: the second one only together with the first."""
    ca = {"metadata": {"name": f"{name}-ca"}, "stringData": {"ca": f"authority of {name}"}}
    store = {"metadata": {"name": f"{name}-keystore"}, "stringData": {"store": "made from the authority"}}
    made = create("secrets", namespace, ca)
    if made is not None or BUG != "tls":
        create("secrets", namespace, store)


@kopf.on.create(*WIDGETS, field="spec.worker", **RETRY)
def worker(name: str, namespace: str, **_: Any) -> None:
    """Make a Secret and report its name. Bug: the name is generated, so each attempt makes one.

    The status is not left to kopf: it writes it after the annotation that says that the handler is done.
    """
    named = {"generateName": f"{name}-worker-"} if BUG == "worker" else {"name": f"{name}-worker"}
    child = {"metadata": named, "stringData": {"role": "worker"}}
    made = create("secrets", namespace, child)
    widget = client("GET", f"{GROUP}/namespaces/{namespace}/widgets/{name}")
    widget.setdefault("status", {})["worker"] = made["metadata"]["name"] if made else named["name"]
    client("PUT", f"{GROUP}/namespaces/{namespace}/widgets/{name}/status", widget)


@kopf.on.create(*WIDGETS, field="spec.size", **RETRY)
@kopf.on.update(*WIDGETS, field="spec.size", **RETRY)
def size(new: int, name: str, namespace: str, **_: Any) -> None:
    """Keep numbered ConfigMaps. Bug: it relies on seeing every size, and removes one at a time."""
    for number in range(new):
        create("configmaps", namespace, {"metadata": {"name": f"{name}-{number}"}, "data": {"number": str(number)}})
    if BUG == "size":
        surplus = [f"{name}-{new}"]
    else:
        names = [item["metadata"]["name"] for item in client("GET", path("configmaps", namespace))["items"]]
        numbered = [
            known for known in names if known.rpartition("-")[0] == name and known.rpartition("-")[2].isdecimal()
        ]
        surplus = [known for known in numbered if int(known.rpartition("-")[2]) >= new]
    for extra in surplus:
        try:
            client("DELETE", path("configmaps", namespace, extra))
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise


@kopf.on.create(*WIDGETS, field="spec.settings", **RETRY)
@kopf.on.update(*WIDGETS, field="spec.settings", **RETRY)
def settings(new: str, name: str, namespace: str, **_: Any) -> None:
    """Copy a field to a Secret. Bug: the write is not locked, so it may arrive at any time."""
    data = {"settings": base64.b64encode(new.encode()).decode()}
    there = find("secrets", namespace, f"{name}-settings")
    if there is None:
        create("secrets", namespace, {"metadata": {"name": f"{name}-settings"}, "data": data}, may_exist=False)
    elif BUG == "settings":
        client("PATCH", path("secrets", namespace, f"{name}-settings"), {"data": data}, MERGE)
    elif there["data"] != data:
        client("PUT", path("secrets", namespace, f"{name}-settings"), {**there, "data": data})


@kopf.on.create(*WIDGETS, field="spec.ready", **RETRY)
def ready(body: kopf.Body, name: str, namespace: str, patch: kopf.Patch, **_: Any) -> None:
    """Report a condition after the marker exists. Bug: the list is written whole, as it was when the handler began."""
    create("configmaps", namespace, {"metadata": {"name": f"{name}-marker"}, "data": {"ready": "true"}})
    condition = {"type": "Ready", "status": "True", "reason": "Fitted"}
    if BUG == "ready":
        others = [condition for condition in body.status.get("conditions", []) if condition["type"] != "Ready"]
        patch.status["conditions"] = [*others, condition]
        return
    widget = client("GET", f"{GROUP}/namespaces/{namespace}/widgets/{name}")
    conditions = widget.setdefault("status", {}).setdefault("conditions", [])
    if condition not in conditions:
        conditions.append(condition)
        client("PUT", f"{GROUP}/namespaces/{namespace}/widgets/{name}/status", widget)


@kopf.index(*WIDGETS)
def parts(spec: kopf.Spec, name: str, **_: Any) -> dict[str, str]:
    """The parts that Widgets refer to: kopf's cache."""
    return {spec["part"]: name} if "part" in spec else {}


@kopf.on.create("", "v1", "configmaps", labels={"live.kontend.dev/part": kopf.PRESENT}, **RETRY)
def part(body: kopf.Body, name: str, namespace: str, parts: kopf.Index[str, str], **_: Any) -> None:
    """Remove a ConfigMap of parts that no Widget refers to. Bug: it asks the index."""
    if BUG == "part":
        needed = name in parts
    else:
        widgets = client("GET", f"{GROUP}/namespaces/{namespace}/widgets")["items"]
        needed = any(widget["spec"].get("part") == name for widget in widgets)
    if not needed:
        options = {"preconditions": {"uid": body.metadata.uid}}
        client("DELETE", path("configmaps", namespace, name), options)
