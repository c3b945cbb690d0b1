"""Scenarios of the two writers: ``kontend explore examples/toolhive/scenarios.py --scenario NAME``.

The Deployment has no controller here: it stays as it is. Guards are off, so that only the form of the writes counts.
"""

from __future__ import annotations

from dataclasses import replace

from kontend import Guards, new_object
from kontend.explore import Scenario

from .variants import (
    ApplyingOperator,
    ApplyingReporter,
    HelperOperator,
    HelperReporter,
    PhaseReporter,
    UpdatingOperator,
    UpdatingReporter,
)
from .writers import BACKEND, SERVER, Operator, Reporter

_server = new_object(SERVER, "s", namespace="default", spec={"groupRef": "g", "image": "vmcp:1"})

ours = Scenario(
    controllers=[Operator(), Reporter()],
    crds=["crds.yaml"],
    objects=[_server, new_object(BACKEND, "b", namespace="default", spec={"groupRef": "g"})],
    guards=Guards.off(),
)
by_field_owner = replace(ours, controllers=[ApplyingOperator(), ApplyingReporter()])
helper = replace(ours, controllers=[HelperOperator(), HelperReporter()])
updates = replace(ours, controllers=[UpdatingOperator(), UpdatingReporter()])
two_phases = replace(ours, controllers=[UpdatingOperator(), PhaseReporter()])
