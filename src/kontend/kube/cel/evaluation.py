"""One evaluation of a compiled expression, with every failure as an ``EvalError``."""

from __future__ import annotations

from typing import Any

from kontend.kube.cel.cost.metering import CostExceeded, CostLimit
from kontend.kube.cel.operations import Run
from kontend.kube.cel.values import EvalError, NoOverload


def evaluated(run: Run, frame: list[Any]) -> Any:
    """Return the result of an expression on some values. Raises an ``EvalError``."""
    try:
        return run(frame)
    except EvalError:
        raise
    except CostExceeded:
        raise CostLimit from None
    except RecursionError:
        raise EvalError("evaluation nested too deeply") from None
    except (TypeError, AttributeError, ValueError, KeyError, OverflowError):
        # Data that does not have the shape of its schema: validation refuses it, rules only see what passed.
        raise NoOverload from None
