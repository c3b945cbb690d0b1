"""The declared memory of a controller: the attributes that it keeps from one reconcile to the next, as JSON."""

from __future__ import annotations

import math
from types import NoneType
from typing import Any

import orjson

from kontend.runtime.controller import BadController, Controller
from kontend.runtime.source_location import defined_at


def read_memory(controller: Controller) -> bytes:
    """The values of the attributes that ``memory`` names. Raises :class:`BadController` for what is not plain JSON."""
    values = {name: getattr(controller, name) for name in controller.memory}
    for name, value in values.items():
        problem = _problem(value, name)
        if problem:
            line = defined_at(type(controller))
            where = f"{line}: " if line is not None else ""
            raise BadController(
                f"{where}{controller.name}: {problem}; what `memory` names must be plain JSON: None, True, False, "
                "numbers, text, lists and dicts with text as keys (not a set or a tuple, but a sorted list)"
            )
    try:
        return orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise BadController(f"{controller.name}: `memory` cannot be written as JSON: {error}") from None


def restore_memory(controller: Controller, memory: bytes) -> None:
    """Give the attributes that ``memory`` names their values."""
    for name, value in orjson.loads(memory).items():
        setattr(controller, name, value)


def _problem(value: Any, path: str) -> str:
    """The first part of a value that JSON does not have; empty when there is none."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                return f"self.{path} has the key {key!r}, a {type(key).__name__}"
            problem = _problem(item, f"{path}[{key!r}]")
            if problem:
                return problem
        return ""
    if kind is list:
        return next((problem for at, item in enumerate(value) if (problem := _problem(item, f"{path}[{at}]"))), "")
    if kind is float and not math.isfinite(value):
        return f"self.{path} is {value}"
    if kind in (NoneType, bool, int, float, str):
        return ""
    return f"self.{path} is a {kind.__name__}"
