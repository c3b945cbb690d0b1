"""The operators of SeiNodes and SeiNodeDeployments: ``kontend run examples/sei``."""

from .nodes import Nodes

__all__ = ["Nodes"]
