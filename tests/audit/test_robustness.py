"""The audit of any tree ends, with one line for each file that it could not read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.conftest import GO_HEAD
from kontend.audit.auditor import audit, classify_sources
from kontend.audit.settings.config import Settings
from kontend.audit.sources.files import MAX_BYTES, Sources

from .test_policies import SOURCE

LABELS = Path(__file__).parent / "labels"


def test_unreadable_things_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.py").write_text("import kopf\ndef f(:\n")
    Path("broken.go").write_text("package x\n// k8s.io/\nfunc (r *R) f() { r.Update(ctx, o \n")
    Path("binary.go").write_bytes(b"package x\x00\x01\x02")
    Path("deep.py").write_text("import kopf\nx = " + "(" * 5000 + ")" * 5000)
    Path("latin.py").write_bytes(b"# caf\xe9 kopf\nx = 1\n")
    Path("dangling.go").symlink_to("nowhere")
    Path("loop").symlink_to(".")
    os.mkfifo("pipe.go")
    with Path("huge.go").open("wb") as file:
        file.truncate(MAX_BYTES * 40)
    report = audit(["."], Settings())
    said = {problem.path: problem.reason for problem in report.problems}
    assert set(said) == {"broken.py", "broken.go", "binary.go", "deep.py", "pipe.go", "huge.go"}
    assert all("\n" not in reason for reason in said.values())
    assert "200 MB" in said["huge.go"]


def test_a_named_file_is_audited_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("tests/go/widget_test.go")
    path.parent.mkdir(parents=True)
    path.write_text(GO_HEAD + next(iter(SOURCE.values())))
    assert audit(["tests"], Settings()).files == 0
    report = audit([str(path)], Settings())
    assert report.files == 1
    assert {site.place.path for site in report.sites} == {str(path)}


@pytest.mark.parametrize(("name", "exclude"), [("notes.txt", ()), ("a.go", ("*.go",))])
def test_a_named_file_that_is_not_audited_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, exclude: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("package a\n")
    (problem,) = audit([name], Settings(exclude=exclude)).problems
    assert (problem.path, problem.incomplete) == (name, True)


def test_a_go_file_cut_anywhere_in_a_function_does_not_parse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole = GO_HEAD + (
        "func (r *Reconciler) f(ctx context.Context) error {\n\tw := new(v1.Widget)\n\tif w != nil {\n"
        "\t\treturn r.Status().Update(ctx, w)\n\t}\n\treturn nil\n}\n"
    )
    lines = whole.splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if line.startswith("func"))
    for end in range(start + 1, len(lines)):
        Path("a.go").write_text("".join(lines[:end]))
        (problem,) = audit(["a.go"], Settings()).problems
        assert problem.incomplete, end
    Path("a.go").write_text(whole)
    assert audit(["a.go"], Settings()).problems == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "secret.py"
    path.write_text("import kopf")
    path.chmod(0)
    (problem,) = audit([str(tmp_path)], Settings()).problems
    assert "permission denied" in problem.reason


def test_an_unreadable_file_is_a_problem_and_not_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.py").write_text("import kopf")

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    (problem,) = audit([str(tmp_path)], Settings()).problems
    assert problem.reason == "permission denied"


GO = (
    GO_HEAD + next(iter(SOURCE.values())) + "".join(path.read_text() for path in sorted(LABELS.glob("*.go.txt")))
).encode()
PYTHON = "".join(path.read_text() for path in sorted(LABELS.glob("*.py.txt"))).encode()


@settings(derandomize=True, deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damaged_sources_never_crash_the_audit(data: st.DataObject) -> None:
    """Cut a piece out of real code, put garbage in its place, and classify what is left."""
    sources = Sources()
    for name, text in (("a/a.go", GO), ("a.py", PYTHON)):
        start = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 200))
        junk = data.draw(
            st.sampled_from([b"", b"}", b"{{", b"func(", b'"', b"\xff\xfe", b"[", b":=", b"\n\n", b"range x"])
        )
        damaged = text[:start] + junk + text[start + cut :]
        (sources.go if name.endswith(".go") else sources.python)[name] = (
            damaged[:6000] if name.endswith(".go") else damaged
        )
    classify_sources(sources)


def _go_functions(count: int) -> str:
    return GO_HEAD + "".join(
        f"func (r *Reconciler) f{number}(ctx context.Context, w *v1.Widget) error {{\n"
        "\tbase := client.MergeFrom(w.DeepCopy())\n\tw.Status.Phase = 1\n\treturn r.Status().Patch(ctx, w, base)\n}\n"
        for number in range(count)
    )


def _go_statements(count: int) -> str:
    body = "\tw.Status.Phase = 1\n\tif err := r.Status().Update(ctx, w); err != nil {\n\t\treturn err\n\t}\n" * count
    head = "func (r *Reconciler) f(ctx context.Context, w *v1.Widget) error {\n"
    return f"{GO_HEAD}{head}{body}\treturn nil\n}}\n"


def _python_statements(count: int) -> str:
    body = 'body = {"status": {"phase": "a"}}\nbody["status"]["x"] = 1\n'
    call = 'api.patch_namespaced_custom_object_status("g", "v", "ns", "widgets", "n", body)\n'
    return "from kubernetes import client\napi = client.CustomObjectsApi()\n" + (body + call) * count


@pytest.mark.parametrize(
    ("name", "source", "few", "many"),
    [
        ("a.go", _go_functions, 200, 800),
        ("a.go", _go_statements, 100, 400),
        ("a.py", _python_statements, 200, 800),
    ],
)
def test_the_time_for_a_file_grows_with_the_number_of_its_writes(
    tmp_path: Path, name: str, source: Callable[[int], str], few: int, many: int
) -> None:
    """Four times the writes take about four times as long; quadratic work would take sixteen times."""
    spent = []
    for count in (few, many):
        place = tmp_path / str(count)
        place.mkdir()
        (place / name).write_text(source(count))
        began = time.process_time()
        assert len(audit([str(place)], Settings()).sites) == count
        spent.append(time.process_time() - began)
    assert spent[1] < 9 * spent[0], spent
