"""Explorations in a user's tests: their messages, profiles, kept failures and attachments."""

from __future__ import annotations

import linecache
import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

import kontend.cluster.startup.manifests
import kontend.pytest_plugin.checks
import kontend.serve.background

#: Imported before any inner run: pytester forgets the modules that a run imports, and two copies of one do not mix.
IMPORTED = (kontend.pytest_plugin.checks, kontend.serve.background, kontend.cluster.startup.manifests)
pytest_plugins = ["pytester"]

SCENARIO = '''
import copy
from kontend import Controller, Guards, merge_from
from kontend.explore import Bounds, Scenario

class Counter(Controller):
    """Counts up to one where it sees no count."""

    kind = "ConfigMap/v1"
    name = "counter"
    lock = LOCK

    async def reconcile(self, request, api):
        found = await api.get(self.kind, request)
        if "count" in (found.get("data") or {}):
            return
        base = copy.deepcopy(found)
        found["data"] = {"count": api.uuid()}
        await api.patch(found, merge_from(base, lock=self.lock))

scenario = Scenario(
    controllers=[Counter()],
    objects=[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}],
    bounds=Bounds(lag=1, concurrent=2, faults=0),
    guards=Guards(read_your_writes=False, locked_status=False, fencing=False),
)
'''


def write(pytester: pytest.Pytester, test: str, *, lock: bool = False) -> None:
    """Write the operator and a test of it."""
    pytester.makepyfile(operators=SCENARIO.replace("LOCK", str(lock)))
    pytester.makepyfile(test_it=f"import pytest\nfrom kontend.explore import check, reproduce\n"
                                f"from operators import scenario\n\n{test}")  # fmt: skip


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run pytest in this process; it imports the files of the test again."""
    linecache.clearcache()
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-q", *options)


ASSERTED = "def test_race():\n    assert check(scenario)\n"


@pytest.mark.parametrize(
    "test",
    [
        ASSERTED,
        "def test_race():\n    check(scenario)\n",
        "def test_race():\n    verdict = check(scenario)\n    assert verdict.ok\n",
        "def test_race():\n    verdict = check(scenario)\n    assert not verdict.violations\n",
        "def test_race():\n    check(scenario).raise_for_violations()\n",
        "@pytest.mark.explore\ndef test_race():\n    verdict = check(scenario)\n",
        "@pytest.mark.explore\ndef test_race():\n    return scenario\n",
        "@pytest.mark.explore\ndef test_race():\n    return {'one': scenario}\n",
    ],
)
def test_a_violation_fails_the_test_with_the_explanation(pytester: pytest.Pytester, test: str) -> None:
    write(pytester, test)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert re.search(r"^lost update.*: violated after \d+ steps", text, re.MULTILINE), text
    assert "operators.py:" in text
    assert "Open: .kontend/" in text
    assert "<Verdict" not in text


@pytest.mark.parametrize(
    "test",
    [
        ASSERTED,
        "def test_race():\n    check(scenario)\n",
        "@pytest.mark.explore\ndef test_race():\n    return [scenario]\n",
    ],
)
def test_a_test_passes_where_everything_holds(pytester: pytest.Pytester, test: str) -> None:
    write(pytester, test, lock=True)
    run(pytester, "-W", "error").assert_outcomes(passed=1)
    assert not (pytester.path / ".kontend").exists()


def test_a_failure_shows_a_verified_fix_unless_that_is_switched_off(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kontend.pytest_plugin.checks._FIX_SECONDS", 120.0)
    write(pytester, "def test_race(): check(scenario)")
    run(pytester).stdout.fnmatch_lines(
        ["*+ await api.patch(found, merge_from(base, lock=True))", "*verified: holds in all * states*"]
    )
    run(pytester, "--kontend-no-fix").stdout.no_fnmatch_line("*verified: holds*")


def test_a_verdict_can_be_expected_to_be_violated(pytester: pytest.Pytester) -> None:
    """A test of a known bug passes, and keeps nothing."""
    write(pytester, "def test_bug():\n    assert check(scenario).violations\n")
    run(pytester).assert_outcomes(passed=1)
    assert not (pytester.path / ".kontend").exists()


def test_another_failed_assertion_keeps_its_own_message(pytester: pytest.Pytester) -> None:
    write(pytester, "def test_bug():\n    verdict = check(scenario)\n    assert 1 + 1 == 3\n")
    result = run(pytester)
    result.stdout.fnmatch_lines(["*assert (1 + 1) == 3"])
    assert "violated after" not in result.stdout.str()


def test_failures_are_kept_and_followed_first(pytester: pytest.Pytester) -> None:
    """The second run follows the counterexample, passes once the bug is fixed, and fails when it comes back."""
    write(pytester, ASSERTED)
    run(pytester).assert_outcomes(failed=1)
    kept = sorted(path.suffix for path in (pytester.path / ".kontend").rglob("*.*") if path.is_file())
    assert ".zip" in kept
    assert ".html" in kept
    again = run(pytester)
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["*followed *.zip instead of searching*"])
    searched = run(pytester, "--kontend-no-replay")
    searched.assert_outcomes(failed=1)
    assert "instead of searching" not in searched.stdout.str()
    write(pytester, ASSERTED, lock=True)
    run(pytester).assert_outcomes(passed=1)
    write(pytester, ASSERTED)
    back = run(pytester)
    back.assert_outcomes(failed=1)
    back.stdout.fnmatch_lines(["*followed *.zip instead of searching*"])


def test_a_pinned_trace_passes_once_the_bug_is_fixed_and_fails_when_it_comes_back(pytester: pytest.Pytester) -> None:
    """Even within bounds in which the search finds nothing."""
    write(pytester, ASSERTED)
    run(pytester).assert_outcomes(failed=1)
    next((pytester.path / ".kontend").rglob("*.zip")).rename(pytester.path / "race.zip")
    pinned = "@pytest.mark.explore(concurrent=1, lag=0, pinned=['race.zip'])\ndef test_race():\n    check(scenario)\n"
    write(pytester, pinned.replace(", pinned=['race.zip']", ""))
    run(pytester).assert_outcomes(passed=1)
    write(pytester, pinned)
    run(pytester).assert_outcomes(failed=1)
    write(pytester, pinned, lock=True)
    run(pytester).assert_outcomes(passed=1)
    write(pytester, pinned.replace("race.zip", "other.zip"), lock=True)
    result = run(pytester)
    assert "other.zip: no such file" in result.stdout.str() + result.stderr.str()


def test_a_kept_file_that_is_no_trace_is_mentioned_and_does_not_stop_the_search(pytester: pytest.Pytester) -> None:
    write(pytester, ASSERTED)
    run(pytester).assert_outcomes(failed=1)
    for path in (pytester.path / ".kontend").rglob("*.zip"):
        path.write_bytes(b"broken")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*not followed: *"])


def test_a_reproduced_token_fails_with_the_explanation(pytester: pytest.Pytester) -> None:
    write(pytester, "def test_token():\n    print('token=' + check(scenario).violations[0].token) or check(scenario)\n")
    token = re.search(r"token=(\S+)", run(pytester, "-s").stdout.str())
    assert token is not None
    pinned = f"@reproduce('{token[1]}')\ndef test_race():\n    check(scenario)\n"
    write(pytester, pinned)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    assert "violated after" in result.stdout.str()
    write(pytester, pinned, lock=True)
    run(pytester).assert_outcomes(passed=1)


def test_options_override_the_mark_and_the_mark_the_profile(pytester: pytest.Pytester) -> None:
    test = "@pytest.mark.explore(lag=3)\ndef test_bounds():\n    print(check(scenario).bounds)\n"
    write(pytester, test, lock=True)
    run(pytester, "-s").stdout.fnmatch_lines(["*lag ≤ 3, 2 instances*"])
    run(pytester, "-s", "--kontend-profile", "thorough").stdout.fnmatch_lines(["*lag ≤ 3, 2 instances, faults ≤ 1*"])
    run(pytester, "-s", "--kontend-lag", "0").stdout.fnmatch_lines(["*lag ≤ 0, 2 instances*"])


def test_profiles(pytester: pytest.Pytester) -> None:
    """``dev`` stops at the first violation; ``ci`` searches everything; ``thorough`` widens the bounds."""
    test = "def test_it():\n    found = check(scenario)\n    print('found', found.states, found.bounds)\n"
    write(pytester, test)
    counts = {}
    for profile in ("dev", "ci", "thorough"):
        match = re.search(r"found (\d+) (lag ≤ \d)", run(pytester, "-s", "--kontend-profile", profile).stdout.str())
        assert match is not None
        counts[profile] = (int(match[1]), match[2])
    assert counts["dev"][1] == counts["ci"][1] == "lag ≤ 1"
    assert counts["dev"][0] < counts["ci"][0]
    assert counts["thorough"][1] == "lag ≤ 2"


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("@pytest.mark.explore(lagg=1)\ndef test_it():\n    check(scenario)\n", "lagg"),
        ("@pytest.mark.explore(lag=-1)\ndef test_it():\n    check(scenario)\n", "lag=-1"),
        ("@pytest.mark.explore\ndef test_it():\n    pass\n", "called no check and returned no scenario"),
        ("@pytest.mark.explore\ndef test_it():\n    return 5\n", "expected scenarios, the test returned 5"),
    ],
)
def test_a_wrong_mark_is_reported(pytester: pytest.Pytester, test: str, message: str) -> None:
    write(pytester, test, lock=True)
    result = run(pytester)
    assert result.ret != 0
    assert message in result.stdout.str() + result.stderr.str()


def test_an_undecided_search_fails_and_says_why(pytester: pytest.Pytester) -> None:
    write(pytester, ASSERTED, lock=True)
    result = run(pytester, "--kontend-states", "3")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["undecided: the space was not exhausted*"])


def test_junit_names_the_page(pytester: pytest.Pytester) -> None:
    write(pytester, ASSERTED)
    run(pytester, "--junitxml", "junit.xml", "-o", "junit_logging=system-out")
    root = ElementTree.parse(pytester.path / "junit.xml").getroot()
    (page,) = (element.get("value") or "" for element in root.iter("property") if element.get("name") == "kontend_page")
    assert (pytester.path / page).is_file()
    attached = re.search(r"\[\[ATTACHMENT\|(.*?)\]\]", (pytester.path / "junit.xml").read_text())
    assert attached is not None
    assert Path(attached[1]).is_file()


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_pytest_html_links_the_page(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    """The link is relative to the report, wherever that is, and also comes from the workers of xdist."""
    pytest.importorskip("pytest_html", reason="pytest-html is not installed")
    write(pytester, ASSERTED)
    run(pytester, "--html", "out/report.html", *options)
    report = unescape((pytester.path / "out" / "report.html").read_text())
    linked = re.search(r'<a target="_blank" href="([^"]+\.html)"|"content": "([^"]+\.html)"', report)
    assert linked is not None
    assert (pytester.path / "out" / (linked[1] or linked[2])).resolve().is_file()


def test_with_xdist(pytester: pytest.Pytester) -> None:
    """Workers keep failures and send explanations and pages to the main process."""
    pytest.importorskip("xdist")
    write(pytester, f"{ASSERTED}\n{ASSERTED.replace('race', 'other')}\n")
    result = run(pytester, "-n", "2", "--junitxml", "junit.xml")
    result.assert_outcomes(failed=2)
    assert result.stdout.str().count("violated after") >= 2
    assert len(list((pytester.path / ".kontend").iterdir())) == 2
    assert (pytester.path / "junit.xml").read_text().count("kontend_page") == 2


def test_nothing_is_imported_until_it_is_used(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import sys

        def pytest_unconfigure():
            print("imported:", *sorted(name for name in sys.modules if name.startswith("kontend")))
        """
    )
    pytester.makepyfile("def test_plain():\n    assert True\n")
    result = pytester.runpytest_subprocess("-q", "-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*imported: kontend kontend.check_runner kontend.pytest_plugin"])


def test_the_fixture_cluster(pytester: pytest.Pytester) -> None:
    pytester.makefile(
        ".yaml", seed="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\ndata: {a: b}\n"
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.kontend(objects=["seed.yaml"])
        def test_seeded(cluster):
            assert cluster.get("ConfigMap/v1", "c")["data"] == {"a": "b"}

        def test_empty(cluster):
            assert cluster.list("ConfigMap/v1") == []
        """
    )
    run(pytester).assert_outcomes(passed=2)
