"""ToolHive's two writers of one status: ``kontend run examples/toolhive``."""

from .writers import Operator, Reporter

__all__ = ["Operator", "Reporter"]
