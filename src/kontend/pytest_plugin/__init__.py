"""The pytest plugin: fixtures with a cluster or a server, and explorations that fail with their explanation.

    @pytest.mark.kontend(crds=["crds/"], objects=["seed.yaml"])
    def test_my_controller(kontend_server):
        client = make_client(kontend_server.url)            # or kontend_server.kubeconfig
        ...
        assert kontend_server.cluster.get("Widget.example.com/v1", "w")["status"]["phase"] == "Ready"

    @pytest.mark.explore(lag=2)
    def test_no_race():
        check(scenario)

Nothing of kontend is imported until a test uses a fixture or explores something: every pytest run of an environment
loads the plugin.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from kontend.check_runner import CHECK_RUNNER

if TYPE_CHECKING:
    from kontend.cluster.cluster import Cluster
    from kontend.pytest_plugin.checks import Checks
    from kontend.serve.background import BackgroundServer

_CHECKS: Final = pytest.StashKey["Checks"]()
#: Options that take a whole number, with the least value of each.
_NUMBERS: Final = {
    "lag": "the number of events that a cache may be behind",
    "concurrent": "the number of instances of each controller",
    "faults": "the number of faults in a run",
    "states": "stop after this many states",
    "seconds": "stop after this many seconds",
    "seed": "random seed of walks",
    "walks": "number of walks",
    "jobs": "number of processes of a breadth-first search",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("kontend", "exploration of Kubernetes controllers")
    add = group.addoption
    add("--kontend-profile", choices=("dev", "ci", "thorough"), help="limits of explorations (default: as in the test)")
    for name, text in _NUMBERS.items():
        add(f"--kontend-{name}", type=int, metavar="N", help=f"{text} (default: as in the test)")
    add("--kontend-search", choices=("breadth", "depth", "random", "pct"), help="search strategy")
    add("--kontend-verbose", action="store_true", help="show every step and every field of a counterexample")
    add("--kontend-dir", default=".kontend", metavar="DIR", help="directory of kept failures (default: .kontend)")
    add("--kontend-no-fix", action="store_true", help="look for no verified fix of what is violated")
    add("--kontend-no-replay", action="store_true", help="search without following kept failures first")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks."""
    for mark in (
        "kontend(crds=[], objects=[]): initial content of the cluster of the fixtures cluster and kontend_server",
        "explore(**options): fail unless every check in the test holds; options are bounds and those of check",
    ):
        config.addinivalue_line("markers", mark)


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """Return an API server in this process, with the content that the mark ``kontend`` gives."""
    from kontend.cluster.cluster import Cluster

    crds, objects = _content(request)
    return Cluster(crds=crds, objects=objects)


@pytest.fixture
def kontend_server(request: pytest.FixtureRequest) -> Iterator[BackgroundServer]:
    """Run an API server with ``url``, ``kubeconfig`` (a path) and ``cluster`` (to read and write from Python)."""
    from kontend.cluster.cluster import Cluster
    from kontend.serve.background import BackgroundServer

    crds, objects = _content(request)
    with BackgroundServer(Cluster(crds=crds, objects=objects).state) as server:
        yield server


def _content(request: pytest.FixtureRequest) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return the definitions and the objects of the mark ``kontend``."""
    mark = request.node.get_closest_marker("kontend")
    given = dict(mark.kwargs) if mark is not None else {}
    unknown = set(given) - {"crds", "objects"}
    if unknown:
        raise pytest.UsageError(f"pytest.mark.kontend: expected crds and objects, found {', '.join(sorted(unknown))}")
    base = request.path.parent
    return _objects(given.get("crds", ()), base), _objects(given.get("objects", ()), base)


def _objects(given: Iterable[Mapping[str, Any] | str | Path], base: Path) -> list[Mapping[str, Any]]:
    """Return the given objects, and those of files; a relative path starts at the directory of the test."""
    from kontend.cluster.startup import manifests

    objects: list[Mapping[str, Any]] = []
    for item in given:
        if isinstance(item, str | Path):
            objects += [manifest.obj for manifest in manifests.read([base / item])]
        else:
            objects.append(item)
    return objects


# Explorations


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run the checks of a test with the profile and the kept failures; a failed one becomes its explanation."""

    def run(scenario: Any, options: Any, search: Any) -> Any:
        return _checks(item).run(scenario, options, search)

    before = CHECK_RUNNER.set(run)
    failed: AssertionError | None = None
    try:
        yield
    except AssertionError as error:
        failed = error
    finally:
        CHECK_RUNNER.reset(before)
    if failed is not None:  # outside of the handler: the explanation replaces the error, it does not follow it
        if (checks := item.stash.get(_CHECKS, None)) is not None:
            checks.explain(failed)
        raise failed
    if item.get_closest_marker("explore") is not None and _CHECKS not in item.stash:
        pytest.fail("pytest.mark.explore: the test called no check and returned no scenario", pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Explore the scenarios that a test with the mark ``explore`` returns."""
    function = pyfuncitem.obj
    if pyfuncitem.get_closest_marker("explore") is None or inspect.iscoroutinefunction(function):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    returned = function(**{name: pyfuncitem.funcargs[name] for name in names})
    if returned is not None:
        _checks(pyfuncitem).check_returned(returned)
    return True


def _checks(item: pytest.Item) -> Checks:
    checks = item.stash.get(_CHECKS, None)
    if checks is None:
        from kontend.pytest_plugin.checks import Checks

        checks = item.stash[_CHECKS] = Checks(item)
    return checks


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Attach the pages of failures to the report of a test."""
    report = yield
    checks = item.stash.get(_CHECKS, None)
    if checks is not None and report.when == "call":
        checks.attach(report)
    return report
