"""A controller on plain HTTP, explored from end to end."""

from __future__ import annotations

from live.conftest import explore, python, setting


def test_a_crash_between_status_and_child_is_found() -> None:
    verdict = explore(setting(python("plain.py"), "plain.yaml", BUG="crash"), only="crash after", confirmations=1)
    assert [(each.finding.property, each.plan.name, each.seen) for each in verdict.violations] == [
        ("diverged", "crash after update widgets.live.kontend.dev default/w status", 2)
    ]
    assert "configmaps default/w-config: missing" in verdict.violations[0].finding.sentence


def test_the_twin_without_the_bug_survives_crashes_and_lost_responses() -> None:
    for only in ("crash after", "lost response"):
        verdict = explore(setting(python("plain.py"), "plain.yaml"), only=only)
        assert verdict.ok, list(verdict.lines())
        assert verdict.executed == 4
