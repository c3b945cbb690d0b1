"""A reconciler that makes a plan when it sees none: in the safe way, and in the two ways that look just as good.

Run as a program it is one of two processes that do so at once: it reads, reports that, waits for a signal, and writes.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

from kontend.kube.errors import Conflict
from kontend.kube.schema.pruning import copy_json
from kontend.runtime.client.api import Api
from kontend.runtime.client.http_backend import HttpBackend
from kontend.runtime.client.kubeconfig import Config
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Request
from runtime.samples import GADGET

LOCKED: Final = "optimistic concurrency"
MERGE: Final = "plain merge patch"
APPLY: Final = "server-side apply by one manager"


async def reconcile(request: Request, api: Api, *, way: str, plan: str) -> str:
    """Make a plan if there is none. Says what it did: ``created`` or ``observed``."""
    obj = await api.live.get(GADGET, request)
    if (obj.get("status") or {}).get("plan"):
        return "observed"
    return await write(api, obj, way=way, plan=plan)


async def write(api: Api, obj: dict[str, Any], *, way: str, plan: str) -> str:
    """The second half of a reconcile that saw no plan."""
    base = copy_json(obj)
    obj["status"] = {"plan": {"id": plan, "phase": "Active"}}
    if way == APPLY:
        metadata = {name: obj["metadata"][name] for name in ("name", "namespace")}
        await api.status.apply(
            {name: obj[name] for name in ("apiVersion", "kind", "status")} | {"metadata": metadata}, manager="planner"
        )
        return "created"
    try:
        await api.status.patch(obj, merge_from(base, lock=way == LOCKED))
    except Conflict:
        seen = await api.live.get(GADGET, f"{base['metadata']['namespace']}/{base['metadata']['name']}")
        assert seen["status"]["plan"], "refused, although there is no plan"
        return "observed"
    return "created"


async def main(url: str, token: str, way: str, plan: str) -> None:
    """Read, report, wait, write, report."""
    backend = HttpBackend(Config(url, token=token, insecure=True))
    api = Api(backend, manager="planner")
    obj = await api.live.get(GADGET, "default/g")
    saw = "a plan" if (obj.get("status") or {}).get("plan") else "no plan"
    sys.stdout.write(f"saw {saw}\n")
    sys.stdout.flush()
    sys.stdin.readline()
    outcome = await write(api, obj, way=way, plan=plan)
    sys.stdout.write(f"{outcome}\n")
    sys.stdout.flush()
    backend.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
