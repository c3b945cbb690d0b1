"""kontend finds, explains and prevents concurrency bugs in Kubernetes controllers, without a cluster.

Public modules: ``kontend`` (controllers in Python and the cluster they run on), ``kontend.predicates``,
``kontend.plans``, ``kontend.controllers``, ``kontend.testing`` and ``kontend.explore``. Everything else is private and
may change.

The names of this module are listed in ``__init__.pyi`` and nowhere else. They are imported on first use, so that every
command starts fast.
"""

from __future__ import annotations

import ast
import pkgutil
from importlib import import_module
from typing import Any, Final


def _exports() -> dict[str, str]:
    """Read the stub: the module of each public name."""
    stub = ast.parse(pkgutil.get_data(__name__, "__init__.pyi") or b"")
    imports = [statement for statement in stub.body if isinstance(statement, ast.ImportFrom)]
    return {alias.name: str(statement.module) for statement in imports for alias in statement.names}


_EXPORTS: Final = _exports()
#: Names that were public here in 0.1.0, and their new modules.
_MOVED: Final = {
    "kontend.explore": (
        "Bounds", "Reductions", "Scenario", "Verdict", "Violation", "always", "check", "create", "delete",
        "eventually", "never", "patch", "reproduce", "sometimes", "update",
    ),
    "kontend.plans": ("Plan", "Progress", "Run", "Task", "TaskFailed", "TaskStatus", "TerminalError", "execute"),
    "kontend.testing": ("settle",),
}  # fmt: skip

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    module = _EXPORTS.get(name)
    if module is None:
        home = next((home for home, names in _MOVED.items() if name in names), None)
        raise AttributeError(
            f"module 'kontend' has no attribute {name!r}" if home is None else f"kontend.{name} moved to {home}.{name}"
        )
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
