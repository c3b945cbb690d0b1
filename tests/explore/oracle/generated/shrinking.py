"""Makes the description of a scenario smaller for as long as something about it stays true."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Description = dict[str, Any]


def shrunk(described: Description, holds: Callable[[Description], bool], *, seconds: float = 20) -> Description:
    """The smallest description that was found in some time for which ``holds`` is still true."""
    ends = time.monotonic() + seconds
    while True:
        for smaller in _smaller(described):
            if time.monotonic() > ends:
                return described
            if holds(smaller):
                described = smaller
                break
        else:
            return described


def _smaller(described: Description) -> Iterator[Description]:
    """Descriptions with a little less in them, the largest cuts first."""
    for name in ("controllers", "actions", "properties", "objects"):
        if name != "controllers" or len(described[name]) > 1:
            for shorter in _shorter(described[name]):
                yield {**described, name: shorter}
    for index, controller in enumerate(described["controllers"]):
        for smaller in _smaller_controller(controller):
            rest = list(described["controllers"])
            rest[index] = smaller
            yield {**described, "controllers": rest}
    for name in ("writers", "instances"):
        if described.get(name):
            yield {**described, name: type(described[name])()}
    writers = described.get("writers") or []
    for index, writer in enumerate(writers):
        for shorter in _shorter(writer["actions"]):
            yield {**described, "writers": [*writers[:index], {**writer, "actions": shorter}, *writers[index + 1 :]]}
    if described.get("policy"):
        yield {**described, "policy": {}}
    if described["collector"]:
        yield {**described, "collector": ""}
    for name, plain in (("lag", 0), ("concurrent", 1), ("guards", "off"), ("crd", []), ("atomic", False)):
        if described[name] != plain:
            yield {**described, name: plain}
    faults = described.get("faults") or {}
    if faults:
        yield {**described, "faults": {}}
        yield from ({**described, "faults": {**faults, name: much - 1}} for name, much in faults.items() if much)
    if described["lag"] > 1:
        yield {**described, "lag": 1}


def _smaller_controller(controller: Mapping[str, Any]) -> Iterator[Description]:
    for code in _smaller_code(controller["code"]):
        yield {**controller, "code": code}
    for name in ("owns", "watches", "predicates"):
        if controller[name]:
            yield {**controller, name: type(controller[name])()}


def _smaller_code(code: list[Any]) -> Iterator[list[Any]]:
    yield from _shorter(code)
    for index, instruction in enumerate(code):
        for smaller in _smaller_instruction(instruction):
            yield [*code[:index], *smaller, *code[index + 1 :]]


def _smaller_instruction(instruction: list[Any]) -> Iterator[list[Any]]:
    """Lists of instructions that can stand for one."""
    name, *arguments = instruction
    if name in ("when", "unless"):
        yield arguments[2]
        for code in _smaller_code(arguments[2]):
            if code:
                yield [[name, arguments[0], arguments[1], code]]
    elif name == "caught":
        yield [arguments[0]]
        for code in _smaller_code(arguments[2]):
            yield [[name, arguments[0], arguments[1], code]]
    elif name in ("gather", "group"):
        yield arguments
    elif name in ("wait_for", "within"):
        yield [arguments[1]]
    elif name == "soft":
        yield [arguments[0]]
        for smaller in _smaller_instruction(arguments[0]):
            if len(smaller) == 1:
                yield [["soft", smaller[0]]]
    elif name in ("create", "generate", "apply", "put"):
        for index, argument in enumerate(arguments):
            if isinstance(argument, list) and argument and isinstance(argument[0], list):
                yield [[name, *arguments[:index], [], *arguments[index + 1 :]]]
    for index, argument in enumerate(arguments):
        if isinstance(argument, list) and argument and argument[0] in ("version", "uid", "uuid", "generation", "more"):
            yield [[name, *arguments[:index], ["const", "1"], *arguments[index + 1 :]]]


def _shorter(items: list[Any]) -> Iterator[list[Any]]:
    for index in range(len(items)):
        yield copy.deepcopy([*items[:index], *items[index + 1 :]])
