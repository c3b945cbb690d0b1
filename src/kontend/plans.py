"""Plans: steps that must all happen, in order, each once, stored in the status before the first one is taken."""

from kontend.runtime.plans.execution import Progress, execute
from kontend.runtime.plans.plan import Plan
from kontend.runtime.plans.tasks import Run, Task, TaskFailed, TaskStatus, TerminalError

__all__ = ["Plan", "Progress", "Run", "Task", "TaskFailed", "TaskStatus", "TerminalError", "execute"]
