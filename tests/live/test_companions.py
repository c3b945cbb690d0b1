"""Several commands in one run: the first is perturbed, the others work beside it."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from kontend.live.gate.call import Call, Point
from kontend.live.gate.perturbation import Crash
from kontend.live.gate.plan import Plan
from kontend.live.gate.records import Happening
from kontend.live.process.command import Command
from kontend.live.process.quiescence import Rest
from kontend.live.runs.run import carry_out
from kontend.live.runs.setting import PRIMARY, Setting, companion
from live.conftest import SUBJECTS, explore, python, setting

#: Creates an object, then waits.
BESIDE = """
import signal, sys
sys.path.insert(0, sys.argv[1])
from plain import Client
Client()("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "beside"}})
signal.pause()
"""


def both() -> Setting:
    beside = Command((sys.executable, "-c", BESIDE, str(SUBJECTS)), Path.cwd(), {})
    return replace(setting(python("plain.py"), "plain.yaml"), companions=(beside,))


def test_a_command_beside_the_controller_works_and_is_not_perturbed() -> None:
    crash = Plan((Crash(Point(Call("create", "configmaps", "default", "w-config"))),))
    run = asyncio.run(carry_out(both(), crash))
    assert run.rest is Rest.IDLE
    starts = [
        record.process for record in run.log.records if isinstance(record, Happening) and record.action == "start"
    ]
    assert sorted(starts) == [companion(1), PRIMARY, PRIMARY]
    assert {request.process for request in run.log.writes()} == {companion(1), PRIMARY}


def test_plans_are_about_the_first_command() -> None:
    verdict = explore(both(), only="crash after", jobs=2)
    assert verdict.ok, list(verdict.lines())
    assert verdict.plans == 8
