"""The modules of the user that a scenario depends on.

A checkpoint is only good for the code that it was made with, and workers on other machines may not have the files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

from kontend.explore.scenario import Scenario
from kontend.runtime.user_sources import is_users


def user_modules(scenario: Scenario) -> list[ModuleType]:
    """The modules that define the controllers and properties of a scenario, and those of the user that they use."""
    todo = [name for value in _values(scenario) if (name := _module_of(value))]
    modules: dict[str, ModuleType] = {}
    while todo:
        name = todo.pop()
        module = sys.modules.get(name)
        if name in modules or module is None or not is_users(module):
            continue
        modules[name] = module
        todo += [used for value in list(vars(module).values()) if (used := _module_of(value))]
    return [modules[name] for name in sorted(modules)]


def _values(scenario: Scenario) -> Iterator[object]:
    for controller in scenario.controllers:
        yield from type(controller).__mro__
    for prop in scenario.properties:
        yield prop.question
    for writer in scenario.everybody():
        for action in writer.actions:
            yield action.perform
            yield action.when


def _module_of(value: object) -> str:
    """The name of the module that a value is, or that defines it."""
    if isinstance(value, ModuleType):
        return value.__name__
    name = getattr(value, "__module__", "")
    return name if isinstance(name, str) else ""
