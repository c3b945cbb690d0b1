"""Says how the final states of unperturbed runs differ, where they do."""

from __future__ import annotations

from kontend.explore.explain.fields import shown
from kontend.explore.explain.final_states import differences
from kontend.explore.verdict import Verdict

#: How many differences a note shows.
_MOST = 3


def several_baselines(verdict: Verdict) -> list[str]:
    """A note for a verdict whose unperturbed runs already end differently: not a violation, but often its reason."""
    states = [
        state for state, reached in zip(verdict.final_states, verdict.reached, strict=False) if reached.unperturbed
    ]
    if len(states) < 2:
        return []
    found = differences(states[1], states[0])
    texts = [
        f"{each.object} {each.path} = {shown(each.expected)} or {shown(each.got)}"
        if each.path
        else f"{each.object} {'is there or not' if each.got is None or each.expected is None else 'differs'}"
        for each in found[:_MOST]
    ]
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return [
        f"unperturbed runs already end in {len(states)} different states, none of which counts as diverged; "
        f"two of them differ in {'; '.join(texts) or 'order alone'}{more}"
    ]
