"""The operators of SeiNodes and SeiNodeDeployments: ``kontend run examples/sei``."""

from .groups import Groups
from .nodes import Nodes

__all__ = ["Groups", "Nodes"]
