"""The controllers of a Go package, for scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kontend.cluster.cluster import Cluster
from kontend.cluster.resources import Resource
from kontend.explore.golang.build import go_tests
from kontend.explore.golang.controller import GoController
from kontend.explore.golang.process import GoProcess, GoTest, UndefinedKind
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.program.external import External
from kontend.kube.crd.permissive import permissive_crd
from kontend.kube.meta.names import GroupVersionKind
from kontend.runtime.client.call import kind_of_view


def go_controllers(
    package: str | Path,
    test: str = "",
    *,
    crds: Sequence[Mapping[str, Any]] = (),
    externals: Mapping[str, External] | None = None,
) -> list[GoController]:
    """The controllers that a test of a Go package hands to ``kontend.Explore``. Raises :class:`BadScenario`.

    The test is the only one unless it is named. ``crds`` are the definitions that its manager needs, for the scenario
    as well. Give that ``guards=Guards.off()``: the guards are those of our own client. ``externals`` are fakes of
    things outside of the cluster, by the names that ``kontend.External`` gives them.

    >>> go_controllers("internal/controller", crds=[CRD])  # doctest: +SKIP
    [<kontend.explore.golang.controller.GoController object at 0x7f6c8e0b5d90>]
    """
    tests = {found.name: found for found in go_tests(Path(package), (test,) if test else ())}
    if not test and len(tests) > 1:
        raise BadScenario(f"{package}: several tests explore something; name one: {', '.join(tests)}")
    name = test or next(iter(tests))
    if name not in tests:
        raise BadScenario(f"{package}: {not_among('test', name, tests)}")
    return controllers_of_test(tests[name], crds, externals)


def controllers_of_test(
    test: GoTest, crds: Sequence[Mapping[str, Any]], externals: Mapping[str, External] | None = None
) -> list[GoController]:
    """The controllers of a test. Kinds that nothing defines accept everything."""
    definitions = list(crds)
    while True:
        resources = Cluster(crds=definitions).state.registry.resources()
        kinds = {(resource.group, resource.version, resource.plural): _kind(resource) for resource in resources}
        process = GoProcess(test, [_described(resource) for resource in resources])
        undefined: set[str] = set()
        try:
            infos = process.hello()
            watched = {kind_of_view(view) for info in infos for view in (info["kind"], *(info.get("kinds") or ()))}
            undefined = watched - {*kinds.values()}
        except UndefinedKind as error:
            undefined = {error.kind}
        if not undefined:
            break
        process.close()
        definitions += [permissive_crd(kind) for kind in sorted(undefined)]
    if not infos:
        process.close()
        raise BadScenario(f"{test.name}: the function given to kontend.Explore adds no controller to its manager")
    fakes = externals or {}
    for name in process.without_fakes:
        if name not in fakes:
            process.close()
            raise BadScenario(
                f"{test.name}: kontend.External({name!r}) has no fake: give it a function in Go, or "
                f"go_controllers(..., externals={{{name!r}: External(state, respond)}}) in Python"
            )
    for name in fakes:
        if name not in process.externals:
            process.close()
            raise BadScenario(f"{test.name}: {not_among('external', name, process.externals)}")
    return [GoController(process, info, kinds, fakes) for info in infos]


def _kind(resource: Resource) -> str:
    return str(GroupVersionKind(resource.group, resource.version, resource.kind))


def _described(resource: Resource) -> dict[str, Any]:
    """A resource, for the mapper of the manager."""
    return {
        "group": resource.group,
        "version": resource.version,
        "kind": resource.kind,
        "plural": resource.plural,
        "namespaced": resource.namespaced,
    }
