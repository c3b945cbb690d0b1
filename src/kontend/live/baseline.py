"""The baseline: unperturbed runs, and what is learned from them.

Two runs at least. The first waits long; from it the patience of all others is learned, the watches of a ready process,
and the calls that never end (polling). What the runs disagree on is masked if it looks made up; otherwise two more runs
decide, and the disagreement is reported before anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from kontend.explore.properties.built_in import BuiltIn
from kontend.kube.errors import ApiError
from kontend.live.gate.call import Call
from kontend.live.gate.plan import Plan
from kontend.live.process.quiescence import Patience, Rest
from kontend.live.properties.final_state import differences, same, unstable_fields
from kontend.live.properties.findings import Expected, Finding, failing_calls, findings
from kontend.live.properties.learning import learn
from kontend.live.properties.masking import Objects, comparable
from kontend.live.properties.needless import deletions_of
from kontend.live.runs.outcome import Run
from kontend.live.runs.setting import PRIMARY, Setting

#: The patience with a controller that has written nothing, as a multiple.
_LONGER: Final = 4
#: The shortest silence that counts as idle, in seconds, and how much longer than the longest learned one.
_SHORTEST: Final = 0.15
_MARGIN: Final = 3.0
#: The silence of a process that may be about to repeat a failed call: at least so long, and a multiple of the other.
_RETRY: Final = 0.5
_RETRY_MARGIN: Final = 2.0
#: The part of a run without writes after which calls that go on are taken for polling.
_POLLING: Final = 0.5
#: The most runs from which polling is learned: each may get as far as the next action of the user.
_LESSONS: Final = 5

_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
#: The conditions by which objects say that they work: the conventions of the API name them.
_READY: Final = ("Ready", "Available")

RunPlan = Callable[[Setting, Plan], Awaitable[Run]]


class Unusable(Exception):
    """A command that cannot be explored; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Unperturbed runs and what was learned from them."""

    runs: tuple[Run, ...]
    #: The setting of the perturbed runs.
    setting: Setting
    expected: Expected
    #: Violations without any perturbation.
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    #: The differences between the final states of the runs, in words; empty if there are none. Nothing has been
    #: perturbed, so nothing explains them: they are no violation, and a perturbed run that differs so is none either.
    disagreement: str = ""

    @property
    def fixed_ports(self) -> frozenset[int]:
        """The ports on which the command listens in every run: two of its processes would be in each other's way."""
        return frozenset.intersection(*(run.listens for run in self.runs)) if len(self.runs) > 1 else frozenset()

    @property
    def vacuous(self) -> str:
        """The reason why perturbing these runs would say nothing; empty if there is none."""
        first, actions = self.runs[0], self.setting.workload.actions
        if not any(request.process == PRIMARY for request in first.log.writes()):
            return (
                "the controller has written nothing, so nothing could be perturbed; do --actions or --objects have an "
                "object that it works on?"
            )
        if actions and len(first.refusals) == len(actions):
            number, refusal = next(iter(first.refusals.items()))
            return f"every action of the user is refused; number {number}: {refusal}"
        if (
            actions
            and not self._begins_with_work
            and not any(request.action for request in first.log.writes() if request.process == PRIMARY)
        ):
            return (
                "the controller has written nothing after the actions of the user, only when it started; do they have "
                "an object that it works on?"
            )
        return ""

    @property
    def _begins_with_work(self) -> bool:
        """Return whether there are custom objects at the start: the controller works on them before any action."""
        initial = self.runs[0].initial
        kinds = {
            f"{spec['names']['plural']}.{spec['group']}"
            for version in initial.objects(_DEFINITIONS).values()
            for spec in [version.content()["spec"]]
        }
        return any(len(initial.objects(kind)) for kind in kinds)

    @property
    def waiting(self) -> str:
        """Something that the controller waits for at the end of unperturbed runs; empty if there is nothing.

        It connects to a pod, in which nothing runs, or an object of the user does not get ready. What the controller
        would do after that is not tried.
        """
        for request in self.runs[0].log.requests():
            if request.call.connects and request.code >= 400:
                return f"{request.call} cannot be answered here: nothing runs in pods (--pod-exec gives answers)"
        final = self.runs[0].final
        for action in self.setting.workload.actions:
            if not action.is_served(final):
                continue
            version = final.find(action.resource(final), action.key)
            status = version.content().get("status") if version is not None else None
            for condition in (status or {}).get("conditions") or [] if isinstance(status, dict) else []:
                if condition.get("type") in _READY and condition.get("status") == "False":
                    why = " ".join(str(condition.get(part)) for part in ("reason", "message") if condition.get(part))
                    return f"{action.obj.get('kind')} {action.key} does not get {condition['type']} ({why})"
        return ""

    def expected_after(self, actions: int | None) -> Expected:
        """Return what is expected of a run in which the user stops after some actions.

        There are no final states where unperturbed runs did not agree at that moment.
        """
        if actions is None or actions >= len(self.setting.workload.actions):
            return self.expected
        mask = self.expected.mask
        finals = [comparable(run.initial, run.phases[actions], mask) for run in self.runs if actions < len(run.phases)]
        agree = len(finals) == len(self.runs) and all(same(final, finals[0]) for final in finals)
        return self.expected._replace(finals=finals[:1] if agree else ())


async def establish(setting: Setting, run_plan: RunPlan) -> Baseline:
    """Run the command without perturbations, twice or more; raises :class:`Unusable`."""
    notes: list[str] = []
    first = await run_plan(setting, Plan(()))
    _check(first, setting)
    for _ in range(_LESSONS):
        polling = _polling(first) - setting.background if first.rest is Rest.BUSY else frozenset()
        if not polling:
            break
        setting = replace(setting, background=setting.background | polling)
        first = await run_plan(setting, Plan(()))
        _check(first, setting)
    if first.rest is not Rest.BUSY and not any(first.log.writes()):
        # On a loaded machine it may only have been slow: one more run waits for longer.
        again = await run_plan(replace(setting, last_silence=_LONGER * setting.patience.silence), Plan(()))
        _check(again, setting)
        if any(again.log.writes()):
            setting = replace(setting, patience=replace(setting.patience, silence=_LONGER * setting.patience.silence))
            first = await run_plan(setting, Plan(()))
            _check(first, setting)
    if setting.background:
        notes.append(f"polls, which does not count as work: {', '.join(sorted(map(str, setting.background)))}")
    if first.rest is Rest.BUSY:  # nothing can be compared
        notes += _late(first, setting)
        return Baseline(
            (first,), setting, Expected((), learn(first.initial, [first.final])), _first(first), tuple(notes)
        )
    learned = _learned(setting, first)
    notes += _late(first, learned)
    for number, refusal in first.refusals.items():
        notes.append(f"action {number} is refused without any perturbation: {refusal}")
    second = await run_plan(learned, Plan(()))
    _check(second, learned)
    runs = [first, second]
    mask = learn(first.initial, [first.final, second.final])
    finals = [comparable(run.initial, run.final, mask) for run in runs]
    if not same(finals[0], finals[1]):
        # Patience may have been learned too short, or the controller is racy by itself: two more runs decide.
        quick, learned = learned, replace(learned, patience=setting.patience)
        for run in await _twice(learned, run_plan, at_once=not first.listens & second.listens):
            _check(run, learned)
            runs.append(run)
        mask = learn(first.initial, [run.final for run in runs])
        finals = [comparable(run.initial, run.final, mask) for run in runs]
        if not same(finals[1], finals[0]) and same(finals[2], finals[0]) and same(finals[3], finals[0]):
            runs.pop(1)
            finals.pop(1)
            notes.append("waits longer than learned: the full patience is used")
        else:  # what they have shown is no matter of patience
            learned = quick
    failing = frozenset(text for run in runs for text in failing_calls(run))
    expected = Expected(finals, mask, failing, unstable_fields(finals), deletions_of(runs))
    violations = [finding for run in runs for finding in findings(run, expected)]
    for text in sorted(failing):
        violations.append(
            Finding(BuiltIn.FAILS_FOREVER, f"{text} fails again and again without any perturbation", key=(text,))
        )
    return Baseline(
        tuple(runs), learned, expected, tuple(_unique(violations)), tuple(notes), disagreement=_disagreement(finals)
    )


async def _twice(setting: Setting, run_plan: RunPlan, *, at_once: bool) -> list[Run]:
    """Return two more unperturbed runs; at the same time, unless they would take a port from each other."""
    if at_once:
        return await asyncio.gather(*(run_plan(setting, Plan(())) for _ in range(2)))
    return [await run_plan(setting, Plan(())) for _ in range(2)]


def _learned(setting: Setting, run: Run) -> Setting:
    """Return the setting of the other runs: patience, watches, and the number of writes to expect."""
    longest = max(run.longest_wait, _longest_interval(run, setting.background))
    silence = min(setting.patience.silence, max(_SHORTEST, _MARGIN * longest))
    by_action: dict[int, int] = {}
    for request in run.log.writes():
        by_action[request.action] = by_action.get(request.action, 0) + 1
    return replace(
        setting,
        observe=0.0,
        patience=Patience(silence, setting.patience.limit),
        watches=run.watches,
        refused=frozenset(run.refusals),
        most_writes=max(by_action.values(), default=0),
        retry_silence=max(_RETRY, _RETRY_MARGIN * silence),
        failing=frozenset(run.failing),
    )


def _late(run: Run, setting: Setting) -> list[str]:
    """The timers beyond the patience, in words."""
    texts = []
    for timer in run.timers:
        often = f", {timer.count} times" if timer.count > 1 else ""
        texts.append(
            f"timer beyond the patience of {setting.patience.silence:.2f} s: {timer.call} came {timer.seconds:.1f} s "
            f"after the process had become idle{often}; no run waits for it (--patience)"
        )
    return texts


def _longest_interval(run: Run, background: frozenset[Call]) -> float:
    """Return the longest time between two polls: work may wait for the next one."""
    times = [request.arrived for request in run.log.requests() if request.call in background]
    return max((later - earlier for earlier, later in pairwise(times)), default=0.0)


def _check(run: Run, setting: Setting) -> None:
    command = " ".join(setting.command.arguments)
    if run.exits:
        ended = run.exits[0]
        raise Unusable(
            f"{command} {ended.how} before it was idle, without any perturbation"
            f"{_in_background(ended.code)}; the end of its output:\n{ended.tail or '(no output)'}"
        )
    if run.unready and setting.ready is not None:
        raise Unusable(
            f"{command} was not ready within {setting.patience.limit:g} s (--limit): it never happened that "
            f"{setting.ready} (--ready); the end of its output:\n{tail_of(run)}"
        )
    if run.silent:
        raise Unusable(
            f"{command} made no request within {setting.patience.limit:g} s. KUBECONFIG is set for it: does it read "
            "that, or does it talk to another server? If it takes longer to start, raise --limit. The end of its "
            f"output:\n{tail_of(run)}"
        )

    for number, action in enumerate(setting.workload.actions if run.rest is Rest.IDLE else (), start=1):
        try:
            action.resource(*run.phases, run.final)
        except ApiError:
            raise Unusable(
                f"action {number} ({action.verb} {action.key}): neither does --crds name the definition of "
                f"{action.kind}, nor does {command} create it"
            ) from None


def tail_of(run: Run) -> str:
    """Return the end of the output of the command in a run."""
    return run.outputs.get(PRIMARY, "")[-2000:] or "(no output)"


def _in_background(code: int) -> str:
    return " (does it go on in the background? It has to stay in the foreground)" if code == 0 else ""


def _polling(run: Run) -> frozenset[Call]:
    """Return the reads that go on when writing has stopped long ago; empty if writing has not stopped."""
    requests = list(run.log.requests())
    end = requests[-1].arrived if requests else 0.0
    last_write = max((write.arrived for write in run.log.writes()), default=requests[0].arrived if requests else 0.0)
    if end - last_write < _POLLING * (run.seconds - last_write):
        return frozenset()
    later = [request.call for request in requests if request.arrived > last_write + (end - last_write) / 2]
    return frozenset(call for call in later if not call.writes)


def _first(run: Run) -> tuple[Finding, ...]:
    return tuple(findings(run, Expected((), learn(run.initial, [run.final]))))


def _disagreement(finals: list[Objects]) -> str:
    other = next((final for final in finals[1:] if not same(final, finals[0])), None)
    return "; ".join(map(str, differences(other, finals[0])[:5])) if other is not None else ""


def _unique(violations: list[Finding]) -> list[Finding]:
    unique: dict[tuple[str, tuple[str, ...]], Finding] = {}
    for violation in violations:
        unique.setdefault((violation.property, violation.key), violation)
    return list(unique.values())
