"""Scenarios of a Go package: for each test that calls ``kontend.Explore``, the plainest ones for its controllers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from kontend.explore.golang.build import go_tests
from kontend.explore.golang.controllers import controllers_of_test
from kontend.explore.preflight import initial_cluster
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.scenario import Scenario
from kontend.explore.sources.definitions import definitions_near
from kontend.explore.sources.generated import basis_of, generated_scenarios
from kontend.explore.sources.inputs import Inputs
from kontend.explore.sources.samples import samples_of
from kontend.kube.crd.permissive import is_definable, permissive_crd
from kontend.kube.meta.names import parse_kind
from kontend.runtime.guards import Guards


def go_scenarios(package: Path, inputs: Inputs, names: Iterable[str] = ()) -> dict[str, Scenario]:
    """The scenarios of a package by the names of the tests: ``TestExplore``, ``TestExplore/deleted`` and so on.

    The definitions of its module are installed beside those of the ``inputs``. Raises :class:`BadScenario`.
    """
    wanted = tuple(dict.fromkeys(basis_of(name) for name in names))
    directories = _up_to_module(package.resolve())
    near = {
        kind: dict(manifest.obj)
        for directory in reversed(directories)
        for kind, manifest in definitions_near(directory / "go.mod").items()
    }
    known = near | {(crd["spec"]["group"], crd["spec"]["names"]["kind"]): dict(crd) for crd in inputs.crds}
    given = replace(inputs, crds=tuple(known.values()))
    _check(given)
    samples = samples_of(directories)
    scenarios: dict[str, Scenario] = {}
    tests = go_tests(package, wanted)
    found = [test.name for test in tests]
    for name in wanted:
        if name not in found:
            raise BadScenario(f"{package}: {not_among('test', name, found)}")
    for test in tests:
        if not wanted or test.name in wanted:
            controllers = controllers_of_test(test, given.crds)
            generated = generated_scenarios(test.name, list(controllers), known, given, samples)
            # The guards are those of our own client and cache.
            scenarios |= {name: replace(scenario, guards=Guards.off()) for name, scenario in generated.items()}
    return scenarios


def _check(given: Inputs) -> None:
    """Refuse objects, actions and properties that are wrong before the package is built, which can take minutes."""
    without = Scenario(controllers=(), crds=given.crds, line=None)
    served = initial_cluster(without).state.registry
    # Definitions for other kinds are made when the controllers are known.
    kinds = [kind for kind in given.kinds if is_definable(kind) and served.of_kind(parse_kind(kind)) is None]
    initial_cluster(replace(without, crds=[*given.crds, *map(permissive_crd, kinds)], objects=list(given.objects)))
    given.properties_of(given.objects)


def _up_to_module(directory: Path) -> list[Path]:
    """A directory and those above it, up to that of its module."""
    above = [directory, *directory.parents]
    last = next((at for at, path in enumerate(above) if (path / "go.mod").exists()), 0)
    return above[: last + 1]
