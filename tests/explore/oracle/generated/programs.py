"""Controllers that do what a list of instructions says.

An instruction is a list: its name, then its arguments. A value is a list too, such as ``["version", "a"]``, the
resourceVersion of the object in register ``a``. So a program is JSON: it can be made at random, made smaller, and
written to a file. Instructions never raise by themselves where something is missing, only where the server refuses;
``soft`` ones go on then.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar

from definitions import definition
from explore.oracle.generated.objects import POD, Json, W, at, blank, put
from kontend.kube.errors import ApiError, NotFound
from kontend.kube.meta.names import key_of
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import json_patch, merge_from, merge_patch
from kontend.runtime.controller import Controller, Request, Result
from kontend.runtime.writes.status import mutate_status


class _Return(Exception):
    def __init__(self, result: Result | None) -> None:
        super().__init__()
        self.result = result


class Program(Controller):
    """Does what its instructions say."""

    kind = W
    name = "program"
    memory: ClassVar[Sequence[str]] = ("kept",)
    kept: Json = None
    code: ClassVar[Sequence[Json]] = ()

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Run the instructions."""
        run = _Run(self, request, api)
        try:
            await run.block(self.code)
        except _Return as returned:
            return returned.result
        return None


class _Run:
    """One reconcile: its registers."""

    def __init__(self, program: Program, request: Request, api: Api) -> None:
        self.program = program
        self.request = request
        self.api = api
        self.registers: dict[str, Any] = {}

    async def block(self, code: Sequence[Json]) -> None:
        """Run instructions one after the other."""
        for instruction in code:
            await self.step(instruction)

    async def step(self, instruction: Json) -> None:
        """Run one instruction."""
        name, *arguments = instruction
        await getattr(self, f"do_{name}")(*arguments)

    # Values

    def value(self, expression: Json) -> Json:
        """The value of an expression."""
        name, *arguments = expression
        return getattr(self, f"of_{name.replace(' ', '_')}")(*arguments)

    def of_const(self, value: Json) -> Json:
        return copy.deepcopy(value)

    def of_version(self, register: str) -> Json:
        return at(self.registers.get(register), ("metadata", "resourceVersion")) or "none"

    def of_uid(self, register: str, cut: int = 0) -> Json:
        uid = at(self.registers.get(register), ("metadata", "uid")) or "none"
        return uid[:cut] if cut > 0 else uid[cut:] if cut else uid

    def of_generation(self, register: str) -> Json:
        return at(self.registers.get(register), ("metadata", "generation")) or 0

    def of_name(self, register: str) -> Json:
        return at(self.registers.get(register), ("metadata", "name")) or "none"

    def of_request(self) -> Json:
        return self.request.name

    def of_field(self, register: str, *path: str) -> Json:
        found = at(self.registers.get(register), path)
        return found if isinstance(found, (str, int, bool, float)) else "none"

    def of_more(self, register: str, most: int, *path: str) -> Json:
        found = at(self.registers.get(register), path)
        number = int(found) if isinstance(found, int) or (isinstance(found, str) and found.isdigit()) else 0
        return min(number + 1, most)

    def of_count(self, register: str) -> Json:
        found = self.registers.get(register)
        return len(found) if isinstance(found, list) else int(found is not None)

    def of_uuid(self) -> Json:
        return self.api.uuid()

    def of_now(self) -> Json:
        return self.api.now()

    def of_since(self, register: str, seconds: int, *path: str) -> Json:
        """So many seconds have passed since the time in a field."""
        try:
            begun = datetime.fromisoformat(str(at(self.registers.get(register), path)))
        except ValueError:
            return False
        return (datetime.fromisoformat(self.api.now()) - begun).total_seconds() >= seconds

    def of_window(self, unit: str, number: int) -> Json:
        """It is this quarter of an hour or of a day, or this weekday."""
        now = datetime.fromisoformat(self.api.now())
        at = {"quarter of an hour": now.minute // 15, "quarter of a day": now.hour // 6, "weekday": now.weekday()}
        return at[unit] == number

    def of_kept(self) -> Json:
        return self.program.kept

    def of_more_kept(self, most: int) -> Json:
        kept = self.program.kept
        return min((kept if isinstance(kept, int) else 0) + 1, most)

    def of_text(self, *expressions: Json) -> Json:
        return "-".join(str(self.value(expression)).lower() for expression in expressions)

    def of_wrapped(self, shape: str, expression: Json) -> Json:
        inner = self.value(expression)
        return {"list": [inner, None, True], "dict": {"a": {"b": inner}, "c": 1.5}}.get(shape, inner)

    def object(self, where: Json) -> dict[str, Any]:
        """A blank object at a place: the object of the request, or a kind, a namespace and a name."""
        if where == "self":
            return blank(self.program.kind, self.request.namespace, self.request.name)
        kind, namespace, name = where
        return blank(kind, namespace, name if isinstance(name, str) else str(self.value(name)))

    def _kind(self, where: Json) -> str:
        return self.program.kind if where == "self" else str(where[0])

    # Control

    async def do_stop_if(self, left: Json, right: Json) -> None:
        if self.value(left) == self.value(right):
            raise _Return(None)

    async def do_stop_unless(self, left: Json, right: Json) -> None:
        if self.value(left) != self.value(right):
            raise _Return(None)

    async def do_stop_unless_there(self, register: str) -> None:
        if not self.registers.get(register):
            raise _Return(None)

    async def do_when(self, left: Json, right: Json, code: Sequence[Json]) -> None:
        if self.value(left) == self.value(right):
            await self.block(code)

    async def do_unless(self, left: Json, right: Json, code: Sequence[Json]) -> None:
        if self.value(left) != self.value(right):
            await self.block(code)

    async def do_soft(self, instruction: Json) -> None:
        try:
            await self.step(instruction)
        except ApiError:
            return

    async def do_caught(self, instruction: Json, code: int, block: Sequence[Json]) -> None:
        """Run instructions after an error with a code, or (0) with any."""
        try:
            await self.step(instruction)
        except ApiError as error:
            self.registers["error"] = {"code": error.code, "after": (error.details or {}).get("retryAfterSeconds")}
            if code in (0, error.code):
                await self.block(block)

    async def do_requeue(self) -> None:
        raise _Return(Result(requeue=True))

    async def do_requeue_after(self, seconds: float) -> None:
        raise _Return(Result(requeue_after=seconds))

    async def do_fail(self) -> None:
        raise RuntimeError("no")

    async def do_keep(self, expression: Json) -> None:
        self.program.kept = self.value(expression)

    async def do_gather(self, *instructions: Json) -> None:
        await asyncio.gather(*(self.step(instruction) for instruction in instructions))

    async def do_group(self, *instructions: Json) -> None:
        async with asyncio.TaskGroup() as group:
            for instruction in instructions:
                group.create_task(self.step(["soft", instruction]))

    async def do_wait_for(self, seconds: float, instruction: Json) -> None:
        try:
            await asyncio.wait_for(self.step(instruction), seconds)
        except TimeoutError:
            self.registers["late"] = {"metadata": {"name": "late"}}

    async def do_within(self, seconds: float, instruction: Json) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.step(instruction)
        except TimeoutError:
            self.registers["late"] = {"metadata": {"name": "late"}}

    async def do_sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    # Reads

    async def do_get(self, register: str, where: Json, live: bool = False, subresource: str = "") -> None:
        obj = self.object(where)
        reader = self.api.live if live else self.api
        try:
            found = await reader.get(self._kind(where), key_of(obj), subresource=subresource)
        except NotFound:
            self.registers.pop(register, None)
            return
        self.registers[register] = found

    async def do_list(
        self, register: str, kind: str, live: bool = False, labels: str = "", namespace: str = "default"
    ) -> None:
        reader = self.api.live if live else self.api
        self.registers[register] = await reader.list(kind, labels=labels, namespace=namespace)

    async def do_indexed(self, register: str, kind: str, index: str, expression: Json) -> None:
        value = str(self.value(expression))
        self.registers[register] = await self.api.list(kind, namespace="default", index=(index, value))

    async def do_first(self, register: str, source: str) -> None:
        found = self.registers.get(source)
        if isinstance(found, list) and found:
            self.registers[register] = found[0]
        else:
            self.registers.pop(register, None)

    # Writes

    async def do_create(self, where: Json, fields: Sequence[Json] = (), owner: str = "") -> None:
        obj = self.object(where)
        self._fill(obj, fields, owner)
        await self.api.create(obj)
        self.registers["new"] = obj

    async def do_generate(self, kind: str, prefix: str, fields: Sequence[Json] = (), owner: str = "") -> None:
        obj = blank(kind, "default", "")
        del obj["metadata"]["name"]
        obj["metadata"]["generateName"] = prefix
        self._fill(obj, fields, owner)
        await self.api.create(obj)
        self.registers["new"] = obj

    def _fill(self, obj: dict[str, Any], fields: Sequence[Json], owner: str) -> None:
        for path, expression in fields:
            put(obj, path, self.value(expression))
        by = self.registers.get(owner)
        if isinstance(by, dict):
            reference = {key: by[key] for key in ("apiVersion", "kind")}
            reference |= {key: by["metadata"][key] for key in ("name", "uid")}
            block = {"controller": True, "blockOwnerDeletion": True}
            obj["metadata"]["ownerReferences"] = [{**reference, **block}]

    def _changed(self, register: str, path: Sequence[str], expression: Json) -> tuple[Any, Any]:
        obj = self.registers.get(register)
        if not isinstance(obj, dict):
            return None, None
        base = copy.deepcopy(obj)
        put(obj, path, self.value(expression))
        return obj, base

    async def do_patch(self, register: str, path: Sequence[str], expression: Json, lock: bool = False) -> None:
        obj, base = self._changed(register, path, expression)
        if obj is not None and obj != base:
            await self.api.patch(obj, merge_from(base, lock=lock))

    async def do_status(self, register: str, name: str, expression: Json, lock: bool | None = None) -> None:
        obj, base = self._changed(register, ("status", name), expression)
        if obj is not None and obj != base:
            await self.api.status.patch(obj, merge_from(base, lock=lock))

    async def do_condition(self, register: str, type: str, expression: Json, lock: bool = False) -> None:
        obj = self.registers.get(register)
        if not isinstance(obj, dict):
            return
        base = copy.deepcopy(obj)
        conditions = [condition for condition in at(obj, ("status", "conditions")) or [] if condition["type"] != type]
        conditions.append({"type": type, "status": "True", "observedGeneration": self.value(expression)})
        put(obj, ("status", "conditions"), sorted(conditions, key=lambda condition: str(condition["type"])))
        if obj != base:
            await self.api.status.patch(obj, merge_from(base, lock=lock))

    async def do_mutate_status(self, register: str, name: str, expression: Json) -> None:
        obj = self.registers.get(register)
        if isinstance(obj, dict):
            value = self.value(expression)
            await mutate_status(self.api, obj, lambda fresh: fresh["status"].update({name: value}))

    async def do_update(self, register: str, path: Sequence[str], expression: Json) -> None:
        obj, _ = self._changed(register, path, expression)
        if obj is not None:
            await (self.api.status.update if path[0] == "status" else self.api.update)(obj)

    async def do_blind(self, where: Json, path: Sequence[str], expression: Json) -> None:
        obj = self.object(where)
        patch: dict[str, Any] = {}
        put(patch, path, self.value(expression))
        await (self.api.status.patch if path[0] == "status" else self.api.patch)(obj, merge_patch(patch))

    async def do_json_patch(self, where: Json, path: Sequence[str], expression: Json) -> None:
        holder: dict[str, Any] = {}
        put(holder, path, self.value(expression))
        operation = {"op": "add", "path": "/" + "/".join(path), "value": at(holder, path)}
        await self.api.patch(self.object(where), json_patch([operation]))

    async def do_apply(self, where: Json, fields: Sequence[Json], force: bool = True, status: bool = False) -> None:
        obj = self.object(where)
        obj.pop("spec", None)
        for path, expression in fields:
            put(obj, path, self.value(expression))
        await (self.api.status.apply if status else self.api.apply)(obj, force=force)
        self.registers["new"] = obj

    async def do_put(self, where: Json, fields: Sequence[Json] = ()) -> None:
        obj = self.object(where)
        for path, expression in fields:
            put(obj, path, self.value(expression))
        await self.api.update(obj)
        self.registers["new"] = obj

    async def do_delete(self, register: str, propagation: str | None = None) -> None:
        obj = self.registers.get(register)
        for item in obj if isinstance(obj, list) else [obj] if obj else []:
            await self.api.delete(item, propagation=propagation)

    async def do_delete_at(self, where: Json) -> None:
        await self.api.delete(self.object(where))

    async def do_delete_all(self, kind: str, labels: str = "") -> None:
        await self.api.delete_all_of(kind, namespace="default", labels=labels)

    async def do_finalizer(self, register: str, name: str, lock: bool = True) -> None:
        obj = self.registers.get(register)
        if isinstance(obj, dict) and not at(obj, ("metadata", "deletionTimestamp")):
            there = at(obj, ("metadata", "finalizers")) or []
            if name not in there:
                base = copy.deepcopy(obj)
                obj["metadata"]["finalizers"] = [*there, name]
                await self.api.patch(obj, merge_from(base, lock=lock))

    async def do_release(self, register: str, name: str, lock: bool = True) -> None:
        obj = self.registers.get(register)
        there = at(obj, ("metadata", "finalizers")) or []
        if isinstance(obj, dict) and at(obj, ("metadata", "deletionTimestamp")) and name in there:
            base = copy.deepcopy(obj)
            obj["metadata"]["finalizers"] = [finalizer for finalizer in there if finalizer != name] or None
            await self.api.patch(obj, merge_from(base, lock=lock))

    async def do_evict(self, name: str) -> None:
        metadata = {"name": name, "namespace": "default"}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        await self.api.create_subresource(blank(POD, "default", name), "eviction", eviction)

    async def do_define(self) -> None:
        await self.api.create(definition("Gadget"))

    async def do_scale(self, where: Json, replicas: int) -> None:
        await self.api.scale(self.object(where), replicas)
