"""Says how the final states of unperturbed runs differ, where they do."""

from __future__ import annotations

from kontend.explore.explain.fields import shown
from kontend.explore.explain.final_states import differences
from kontend.explore.verdict import Verdict

#: Differences that a note shows.
_MOST = 3


def several_baselines(verdict: Verdict) -> list[str]:
    """A note for a verdict whose unperturbed runs already end differently: not a violation, but often its reason."""
    states = [
        state for state, reached in zip(verdict.final_states, verdict.reached, strict=False) if reached.unperturbed
    ]
    if len(states) < 2:
        return []
    between = differences(states[1], states[0])
    texts = [
        f"{final.object} {final.path} = {shown(final.expected)} or {shown(final.got)}"
        if final.path
        else f"{final.object} {'is there or not' if final.got is None or final.expected is None else 'differs'}"
        for final in between[:_MOST]
    ]
    more = f" and {len(between) - _MOST} more" if len(between) > _MOST else ""
    return [
        f"unperturbed runs already end in {len(states)} different states, none of which counts as diverged; "
        f"two of them differ in {'; '.join(texts) or 'order alone'}{more}"
    ]
