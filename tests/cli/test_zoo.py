"""``kontend zoo``: the table, its figures, and the exit codes."""

from __future__ import annotations

import textwrap
from pathlib import Path

import orjson
import pytest

from kontend.cli import main

HEAD = '''
    """example: {title}.

    Link: https://example.com/1
    Archetype: A7

    Two writers replace a list.

    Interleaving: both read -> both write

    Fix: lock the patch.
    """

    from copy import deepcopy

    from kontend import Api, Cluster, Controller, Guards, Request, merge_from, new_object
    from kontend.explore import Scenario, never
    from kontend.testing import permissive_crd

    WIDGET = "Widget.example.com/v1"


    class One(Controller):
        kind = WIDGET
        locked = False

        async def reconcile(self, request: Request, api: Api) -> None:
            widget = await api.get(WIDGET, request)
            base = deepcopy(widget)
            finalizers = widget["metadata"].setdefault("finalizers", [])
            if f"example.com/{{self.name}}" not in finalizers:
                finalizers.append(f"example.com/{{self.name}}")
                await api.patch(widget, merge_from(base, lock=self.locked))


    class Two(One):
        pass


    class LockedOne(One):
        name = "one"
        locked = True


    class LockedTwo(One):
        name = "two"
        locked = True


    def scenario(*controllers, properties=()):
        return Scenario(
            controllers=list(controllers),
            crds=[permissive_crd(WIDGET)],
            objects=[new_object(WIDGET, "w")],
            properties=properties,
            guards=Guards.off(),
        )
'''


def entry(folder: Path, name: str, body: str) -> None:
    head = textwrap.dedent(HEAD).lstrip().format(title=name)
    (folder / f"{name}.py").write_text(f"{head}\n\n{textwrap.dedent(body)}")


GOOD = "buggy = scenario(One(), Two())\nfixed = scenario(LockedOne(), LockedTwo())\n"


def test_the_table_says_what_was_found_and_that_the_twin_is_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry(tmp_path, "lists", GOOD)
    assert main(["zoo", "--directory", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if line.startswith("lists"))
    assert row.split()[:4] == ["lists", "A7", "vanished", "element"]
    assert " clean " in row
    assert "found 1 of 1 bugs, 1 by built-in properties alone (100 %)\n" in out
    assert "0 false alarms on 1 fixed twins and negative controls, 1 of them exhausted\n" in out


def test_a_missed_bug_and_an_alarm_on_a_twin_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry(tmp_path, "good", GOOD)
    entry(tmp_path, "missed", "buggy = scenario(LockedOne())\nfixed = scenario(LockedOne())\n")
    entry(tmp_path, "alarm", "buggy = scenario(One(), Two())\nfixed = scenario(One(), Two())\n")
    assert main(["zoo", "--directory", str(tmp_path), "--output-format", "json"]) == 1
    document = orjson.loads(capsys.readouterr().out)
    assert (document["bugs"], document["found"], document["falseAlarms"], document["undecided"]) == (3, 2, 1, 0)
    assert {entry["name"]: entry["found"] for entry in document["entries"]} == {
        "alarm": True, "good": True, "missed": False,
    }  # fmt: skip


def test_a_bug_that_needs_a_property_of_its_own_is_counted_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = """
        def labelled(cluster: Cluster) -> bool:
            return bool(cluster.get(WIDGET, "w")["metadata"].get("finalizers"))


        buggy = scenario(LockedOne(), properties=[never(labelled)])
        fixed = scenario(LockedOne())
    """
    entry(tmp_path, "own", body)
    assert main(["zoo", "--directory", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "labelled (own)" in out
    assert "found 1 of 1 bugs, 0 by built-in properties alone (0 %)\n" in out


def test_a_name_explains_one_bug_with_its_story_and_its_traces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry(tmp_path, "lists", GOOD)
    assert main(["zoo", "lists", "--directory", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    for part in ("https://example.com/1", "Two writers replace a list.", "Interleaving: both read", "Fix: lock"):
        assert part in out
    assert "buggy:\nvanished element: violated after" in out
    assert "fixed:\nholds in all" in out
    assert "buggy, with all guards on:\n" in out


def test_guarded_runs_the_buggy_controllers_with_the_guards_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry(tmp_path, "lists", GOOD)
    assert main(["zoo", "--guarded", "--directory", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "lists  A7     still broken    vanished element   still broken\n" in out
    assert "the guards prevent 0 of 1 bugs within the bounds, and 0 without faults" in out


def test_jobs_give_the_same_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("first", "second"):
        entry(tmp_path, name, GOOD)
    results = []
    for jobs in ("1", "2"):
        assert main(["zoo", "--directory", str(tmp_path), "--output-format", "json", "--jobs", jobs]) == 0
        document = orjson.loads(capsys.readouterr().out)
        document.pop("seconds")
        for listed in document["entries"]:
            for scenario in listed["scenarios"]:
                scenario.pop("milliseconds")
        results.append(document)
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("Archetype: A7", "Archetype: B7"), "Archetype: expected one of A1, A2"),
        (("Link: https://example.com/1\n", ""), "the docstring lacks Link"),
        (("fixed = ", "repaired = "), "scenario repaired: expected a name that begins with buggy, fixed or control"),
        (("buggy = ", "control = "), "there is no buggy scenario"),
    ],
)
def test_an_entry_that_is_not_complete_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], message: str
) -> None:
    entry(tmp_path, "lists", GOOD)
    file = tmp_path / "lists.py"
    file.write_text(file.read_text().replace(*change))
    assert main(["zoo", "--directory", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_an_unknown_name_is_refused_with_the_closest_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry(tmp_path, "lists", GOOD)
    assert main(["zoo", "list", "--directory", str(tmp_path)]) == 2
    assert "did you mean lists?" in capsys.readouterr().err
