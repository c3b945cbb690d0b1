"""Other ways to write the status: the plain helper, an update, and apply by field owner."""

from __future__ import annotations

from copy import deepcopy

from kontend import Api, Conflict, merge_from, new_object

from .writers import SERVER, Mutate, Object, Operator, Reporter


async def mutate_and_patch_status(api: Api, obj: Object, mutate: Mutate) -> None:
    """ToolHive's helper: the difference of the whole object, as a merge patch without a version; none, no request."""
    original = deepcopy(obj)
    obj.setdefault("status", {})
    mutate(obj)
    if obj != original:
        await api.status.patch(obj, merge_from(original, lock=False))


class HelperOperator(Operator):
    """The operator with the plain helper."""

    name = Operator.name

    async def store(self, api: Api, server: Object, mutate: Mutate) -> None:
        """Patch without a lock."""
        await mutate_and_patch_status(api, server, mutate)


class HelperReporter(Reporter):
    """The reporter with the plain helper."""

    name = Reporter.name

    async def store(self, api: Api, server: Object, mutate: Mutate) -> None:
        """Patch without a lock."""
        await mutate_and_patch_status(api, server, mutate)


class UpdatingOperator(Operator):
    """The operator as it is upstream: it reads the object once more, from the cache, and updates its status."""

    name = Operator.name

    async def store(self, api: Api, server: Object, mutate: Mutate) -> None:
        """Update; a conflict is returned, and the reconcile runs again."""
        latest = await api.get(SERVER, f"{server['metadata']['namespace']}/{server['metadata']['name']}")
        before = deepcopy(latest)
        latest.setdefault("status", {})
        mutate(latest)
        if latest != before:
            await api.status.update(latest)


class UpdatingReporter(Reporter):
    """The reporter as it is upstream: it reads the object from the server and tries again after a conflict."""

    name = Reporter.name

    async def store(self, api: Api, server: Object, mutate: Mutate) -> None:
        """Update, up to five times."""
        for attempt in range(5):
            latest = await api.live.get(SERVER, f"{server['metadata']['namespace']}/{server['metadata']['name']}")
            before = deepcopy(latest)
            latest.setdefault("status", {})
            self.report(latest, mutate)
            if latest == before:
                return
            try:
                await api.status.update(latest)
            except Conflict:
                if attempt == 4:
                    raise
            else:
                return

    def report(self, latest: Object, mutate: Mutate) -> None:
        """Change the object that is written."""
        mutate(latest)


class PhaseReporter(UpdatingReporter):
    """The fields are not disjoint upstream: the reporter derives a phase of its own from the backends."""

    name = Reporter.name

    def report(self, latest: Object, mutate: Mutate) -> None:
        """Write a phase too."""
        mutate(latest)
        latest["status"]["phase"] = "Ready" if latest["status"]["backendCount"] else "Degraded"


async def apply_status(api: Api, server: Object, mutate: Mutate, condition: str) -> None:
    """Apply the fields of this writer and its condition: each field and each condition has one owner."""
    metadata = server["metadata"]
    conditions = (server.get("status") or {}).get("conditions") or []
    own = new_object(SERVER, metadata["name"], namespace=metadata["namespace"], status={})
    own["metadata"]["uid"] = metadata["uid"]  # of this server, and not of another one of its name
    # It keeps the time of its last transition.
    own["status"]["conditions"] = [deepcopy(known) for known in conditions if known["type"] == condition]
    mutate(own)
    await api.status.apply(own, force=True)


class ApplyingOperator(Operator):
    """The operator with apply by field owner."""

    name = Operator.name

    async def store(self, api: Api, server: Object, mutate: Mutate) -> None:
        """Apply the operator's part of the status."""
        await apply_status(api, server, mutate, "Ready")


class ApplyingReporter(Reporter):
    """The reporter with apply by field owner."""

    name = Reporter.name

    async def store(self, api: Api, server: Object, mutate: Mutate) -> None:
        """Apply the reporter's part of the status."""
        await apply_status(api, server, mutate, "BackendsDiscovered")
