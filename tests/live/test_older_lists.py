"""Restarts onto older lists, which may show an object that has been deleted and created again since."""

from __future__ import annotations

from dataclasses import replace

from kontend.cli.serving.controllers import Inside
from kontend.live.runs.setting import Setting
from live.conftest import explore, python, setting

OLDER = "onto a list of widgets.live.kontend.dev"


def stores(bug: str) -> Setting:
    """The controller, on a server that collects objects whose owners are gone."""
    given = setting(python("stores.py"), "stores.yaml", limit=10.0, BUG=bug)
    return replace(given, inside=lambda server: Inside(server, built_in=False, pods=False, owners=True).start())


def test_the_deletion_of_an_earlier_object_that_is_seen_again_is_found() -> None:
    verdict = explore(stores("name"), only=f"restart after action 4 {OLDER}", jobs=4, confirmations=1, shrinks=0)
    lines = "\n".join(verdict.lines())
    properties = {violation.finding.property for violation in verdict.violations}
    assert properties == {"diverged"}, lines
    assert any(
        violation.plan.name == f"restart after action 4 {OLDER} that is 2 changes old"
        for violation in verdict.violations
    ), lines


def test_the_twin_that_compares_uids_is_clean_although_it_repeats_a_refused_write_for_as_long_as_its_list_is_old() -> (
    None
):
    verdict = explore(stores(""), only=OLDER, jobs=4, shrinks=0)
    assert verdict.ok, "\n".join(verdict.lines())
    assert verdict.executed == verdict.plans > 4
