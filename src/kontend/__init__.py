"""kontend finds, explains and prevents concurrency bugs in Kubernetes controllers, without a cluster.

Everything users may import is here; the rest is private and may change. Names are loaded when they are first used, so
that each command starts fast and nobody pays for what they do not use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kontend.cluster.admission import Denied, Review
    from kontend.cluster.cluster import Cluster
    from kontend.cluster.seed import UnknownKind
    from kontend.cluster.state import State
    from kontend.explore.check import check
    from kontend.explore.reproduce import reproduce
    from kontend.explore.scenario import (
        Bounds,
        Reductions,
        Scenario,
        always,
        create,
        delete,
        eventually,
        never,
        patch,
        sometimes,
        update,
    )
    from kontend.explore.verdict import Verdict, Violation
    from kontend.kube.errors import (
        AlreadyExists,
        ApiError,
        BadRequest,
        Conflict,
        Forbidden,
        Gone,
        InternalError,
        Invalid,
        MethodNotAllowed,
        NotFound,
        Timeout,
        TooManyRequests,
        Unauthorized,
    )
    from kontend.runtime.client.api import Api
    from kontend.runtime.client.patches import json_patch, merge_from, raw
    from kontend.runtime.controller import Controller, Request, Result
    from kontend.runtime.guards import Guards
    from kontend.runtime.manager.process import Manager
    from kontend.runtime.plans.execution import Progress, execute
    from kontend.runtime.plans.plan import Plan
    from kontend.runtime.plans.tasks import Run, Task, TaskFailed, TaskStatus, TerminalError
    from kontend.runtime.testing import settle
    from kontend.runtime.writes.children import ChildOutcome, ForeignChild, remove_child, sync_child
    from kontend.runtime.writes.conditions import condition, get_condition, is_true, patch_conditions, set_condition
    from kontend.runtime.writes.finalizers import add_finalizer, has_finalizer, remove_finalizer
    from kontend.runtime.writes.owners import (
        AlreadyOwned,
        controller_of,
        is_controlled_by,
        owner_reference,
        remove_owner_reference,
        set_controller_reference,
        set_owner_reference,
    )
    from kontend.runtime.writes.scope import NotStored, StaleObject, StatusScope
    from kontend.runtime.writes.snapshot import WrongObject
    from kontend.runtime.writes.spec import mutate_spec
    from kontend.runtime.writes.status import mutate_status

_MODULES = {
    "cluster.admission": ("Denied", "Review"),
    "cluster.cluster": ("Cluster",),
    "cluster.seed": ("UnknownKind",),
    "cluster.state": ("State",),
    "explore.check": ("check",),
    "explore.reproduce": ("reproduce",),
    "explore.scenario": (
        "Bounds", "Reductions", "Scenario", "always", "create", "delete", "eventually", "never", "patch", "sometimes",
        "update",
    ),
    "explore.verdict": ("Verdict", "Violation"),
    "kube.errors": (
        "AlreadyExists", "ApiError", "BadRequest", "Conflict", "Forbidden", "Gone", "InternalError", "Invalid",
        "MethodNotAllowed", "NotFound", "Timeout", "TooManyRequests", "Unauthorized",
    ),
    "runtime.client.api": ("Api",),
    "runtime.writes.children": ("ChildOutcome", "ForeignChild", "remove_child", "sync_child"),
    "runtime.writes.conditions": ("condition", "get_condition", "is_true", "patch_conditions", "set_condition"),
    "runtime.controller": ("Controller", "Request", "Result"),
    "runtime.plans.execution": ("Progress", "execute"),
    "runtime.writes.finalizers": ("add_finalizer", "has_finalizer", "remove_finalizer"),
    "runtime.guards": ("Guards",),
    "runtime.manager.process": ("Manager",),
    "runtime.writes.owners": (
        "AlreadyOwned", "controller_of", "is_controlled_by", "owner_reference", "remove_owner_reference",
        "set_controller_reference", "set_owner_reference",
    ),
    "runtime.client.patches": ("json_patch", "merge_from", "raw"),
    "runtime.plans.plan": ("Plan",),
    "runtime.writes.scope": ("NotStored", "StaleObject", "StatusScope"),
    "runtime.writes.snapshot": ("WrongObject",),
    "runtime.writes.spec": ("mutate_spec",),
    "runtime.writes.status": ("mutate_status",),
    "runtime.plans.tasks": ("Run", "Task", "TaskFailed", "TaskStatus", "TerminalError"),
    "runtime.testing": ("settle",),
}  # fmt: skip
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module 'kontend' has no attribute {name!r}")
    value = getattr(import_module(f"kontend.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME)


__all__ = [
    "AlreadyExists", "AlreadyOwned", "Api", "ApiError", "BadRequest", "Bounds", "ChildOutcome", "Cluster", "Conflict",
    "Controller", "Denied", "Forbidden", "ForeignChild", "Gone", "Guards", "InternalError", "Invalid", "Manager",
    "MethodNotAllowed", "NotFound", "NotStored", "Plan", "Progress", "Reductions", "Request", "Result", "Review",
    "Run", "Scenario", "StaleObject", "State", "StatusScope", "Task", "TaskFailed", "TaskStatus", "TerminalError",
    "Timeout", "TooManyRequests", "Unauthorized", "UnknownKind", "Verdict", "Violation", "WrongObject",
    "add_finalizer", "always", "check", "condition", "controller_of", "create", "delete", "eventually", "execute",
    "get_condition", "has_finalizer", "is_controlled_by", "is_true", "json_patch", "merge_from", "mutate_spec",
    "mutate_status", "never", "owner_reference", "patch", "patch_conditions", "raw", "remove_child",
    "remove_finalizer", "remove_owner_reference", "reproduce", "set_condition", "set_controller_reference",
    "set_owner_reference", "settle", "sometimes", "sync_child", "update",
]  # fmt: skip
