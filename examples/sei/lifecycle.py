"""The life of an object of ours: a finalizer before anything else, one status scope, and a clean-up at the end."""

from __future__ import annotations

import os
from typing import ClassVar

from kontend import Api, Controller, NotFound, Request, Result, StatusScope, add_finalizer, has_finalizer, mutate_object

from .resources import FINALIZER, Object
from .sidecar import HttpSidecar, Sidecar


class Lifecycle(Controller):
    """Converges an object until it is deleted, then finalizes it. Subclasses say what both mean."""

    #: The status during a reconcile.
    scope: ClassVar[type[StatusScope]] = StatusScope

    def __init__(self, sidecar: Sidecar | None = None, *, poll: float | None = None) -> None:
        self.poll = poll if poll is not None else float(os.environ.get("SEI_POLL_SECONDS", "5"))
        self.sidecar = sidecar if sidecar is not None else HttpSidecar()

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Converge an object, or clean up after it."""
        try:
            obj = await api.get(self.kind, request)
        except NotFound:
            return None
        if obj["metadata"].get("deletionTimestamp"):
            return await self.finalize(obj, api)
        if not has_finalizer(obj, FINALIZER):
            await mutate_object(api, obj, lambda obj: add_finalizer(obj, FINALIZER))
        async with self.scope(api, obj) as scope:
            return await self.converge(scope, api)

    async def converge(self, scope: StatusScope, api: Api) -> Result | None:
        """Bring the cluster closer to the spec. Everything is stored when the scope ends."""
        raise NotImplementedError

    async def finalize(self, obj: Object, api: Api) -> Result | None:
        """Clean up, then remove the finalizer."""
        raise NotImplementedError
