"""Reconciles written as data, their random generation, and an interpreter of them in Python.

The interpreter in Go is in ``operators/interpreter.go``.
"""

from __future__ import annotations

import contextlib
import copy
import random
from typing import Any

from kontend import Api, Controller, Request, Result, merge_from
from kontend.kube.errors import AlreadyExists, NotFound

Instruction = dict[str, Any]
_VARIABLES = ("a", "b")
_NAMES = ("c", "d")
_KEYS = ("x", "y")
_VALUES = ("", "1", "2")
CONFIG = "ConfigMap/v1"


def program(seed: int) -> list[Instruction]:
    """A random reconcile."""
    chosen = random.Random(seed)
    read = {"op": "get", "var": "a", "name": "c", "live": chosen.random() < 0.2}
    return [read, *_block(chosen, depth=2, most=5)]


def _block(chosen: random.Random, *, depth: int, most: int) -> list[Instruction]:
    return [_instruction(chosen, depth) for _ in range(chosen.randint(1, most))]


def _instruction(chosen: random.Random, depth: int) -> Instruction:
    ops = ["get", "set", "set", "update", "patch", "patch", "create", "delete", "if", "if", "again", "return"]
    op = chosen.choice(ops if depth else [op for op in ops if op != "if"])
    made: Instruction = {
        "op": op,
        "var": chosen.choice(_VARIABLES),
        "name": chosen.choice(_NAMES),
        "key": chosen.choice(_KEYS),
        "value": chosen.choice(_VALUES),
    }
    if op == "get":
        made["live"] = chosen.random() < 0.3
    elif op == "set":
        made["from"] = chosen.choice(["", *_VARIABLES])
    elif op == "patch":
        made["lock"] = chosen.random() < 0.4
    elif op == "create":
        made["name"] = "d"
    elif op == "if":
        made["then"] = _block(chosen, depth=depth - 1, most=2)
        made["else"] = _block(chosen, depth=depth - 1, most=2)
    return made


class Interpreter(Controller):
    """Reconciles the ConfigMap ``c`` by instructions."""

    kind = CONFIG
    name = "configs"

    def __init__(self, instructions: list[Instruction]) -> None:
        self.program = instructions

    async def reconcile(self, request: Request, api: Api) -> Result | None:
        """Carry out the instructions."""
        if request.name != "c":
            return None
        frame = _Frame(api)
        await frame.run(self.program)
        return Result(requeue=frame.again)


class _Frame:
    """One reconcile."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.objects: dict[str, Any] = {}
        self.bases: dict[str, Any] = {}
        self.again = self.ended = False

    async def run(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            if self.ended:
                return
            await self.step(instruction)

    async def step(self, made: Instruction) -> None:
        api, variable = self.api, made["var"]
        obj = self.objects.get(variable)
        match made["op"]:
            case "get":
                reader = api.live if made.get("live") else api
                try:
                    obj = await reader.get(CONFIG, f"default/{made['name']}")
                except NotFound:
                    self.objects.pop(variable, None)
                    return
                self.objects[variable], self.bases[variable] = obj, copy.deepcopy(obj)
            case "set" if obj is not None:
                source = self.objects.get(made["from"])
                before = (source.get("data") or {}).get(made["key"], "") if source is not None else ""
                obj.setdefault("data", {})[made["key"]] = (before + made["value"])[:3]
            case "update" if obj is not None:
                await api.update(obj)
            case "patch" if obj is not None:
                await api.patch(obj, merge_from(self.bases[variable], lock=made["lock"]))
            case "create":
                metadata = {"namespace": "default", "name": made["name"]}
                new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
                with contextlib.suppress(AlreadyExists):
                    await api.create({**new, "data": {made["key"]: made["value"]}})
            case "delete" if obj is not None:
                with contextlib.suppress(NotFound):
                    await api.delete(obj)
            case "if":
                matches = obj is not None and (obj.get("data") or {}).get(made["key"], "") == made["value"]
                await self.run(made["then"] if matches else made["else"])
            case "again":
                self.again = True
            case "return":
                self.ended = True
