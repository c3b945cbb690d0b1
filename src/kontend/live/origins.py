"""Lines of the controller's own code: where the writes of a violation come from.

The plan is carried out once more for each of them, and the process is asked for its stacks as the write arrives
(:mod:`kontend.live.process.stacks`). That needs no source, no debug information and no other build.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from kontend.live.gate.call import Point
from kontend.live.gate.perturbation import Ask, Fail, LoseResponse
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Request
from kontend.live.process.stacks import Origin, asked, origins
from kontend.live.runs.outcome import Run
from kontend.live.runs.setting import PRIMARY, Setting
from kontend.live.verdicts.verdict import Violation

#: The writes of a violation that are looked up.
_WRITES: Final = 2
#: More lines than these from which a request may come say nothing.
_LINES: Final = 2

RunPlan = Callable[[Setting, Plan], Awaitable[Run]]


class _Write(NamedTuple):
    number: int
    request: Request
    point: Point


async def code_of(violation: Violation, setting: Setting, run_plan: RunPlan) -> tuple[str, ...]:
    """Return where the writes of a violation come from, in words; empty where the process does not say it.

    An error in that costs neither the violation nor the others, whatever it is.
    """
    try:
        return await _code_of(violation, setting, run_plan)
    except Exception as error:
        return (f"not known: internal error: {error!r}",)


async def _code_of(violation: Violation, setting: Setting, run_plan: RunPlan) -> tuple[str, ...]:
    lines = []
    setting = replace(setting, command=asked(setting.command))
    for write in [*_writes(violation)][:_WRITES]:
        plan = Plan((*violation.plan.perturbations, Ask(write.point)), violation.plan.reason, violation.plan.actions)
        run = await run_plan(setting, plan)
        found = origins(run.outputs.get(PRIMARY, ""), write.request.call.verb)
        if found and len(found) <= _LINES:
            lines.append(f"step {write.number} ({write.request.call}) comes from {_listed(found)}")
        if not found:
            break  # a program that does not print its stacks does not do so the next time
    return tuple(lines)


def _listed(found: list[Origin]) -> str:
    return " or ".join(map(str, found))


def _writes(violation: Violation) -> Iterator[_Write]:
    """The writes at fault, those that a perturbation has hit, and those that the cause names."""
    records = violation.run.log.records
    hit = [
        number
        for number, record in enumerate(records, start=1)
        if isinstance(record, Request) and isinstance(record.perturbation, Fail | LoseResponse)
    ]
    for number in dict.fromkeys([*violation.finding.culprits, *hit, *violation.cause.culprits]):
        record = records[number - 1] if 0 < number <= len(records) else None
        if isinstance(record, Request) and record.process == PRIMARY and record.call.writes:
            yield _Write(number, record, Point(record.call, _nth(violation.run, record)))


def _nth(run: Run, request: Request) -> int:
    """Return which of the writes that changed something it is, of its call."""
    before = (other for other in run.log.writes() if other.number < request.number and other.process == PRIMARY)
    return 1 + sum(other.call == request.call for other in before)
