"""The language server: diagnostics of the tree on disk, quick fixes only where they fit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kontend.audit.auditor import audit
from kontend.audit.finding import Severity
from kontend.audit.settings.config import Settings
from kontend.cli import main
from kontend.cli.auditing.language_server import Session, uri_of

_SOURCE = """package widget

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/widget/api/v1"
)

type Reconciler struct{ client.Client }

func (r *Reconciler) mark(ctx context.Context, w *v1.Widget) error {
	if err := r.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
		return err
	}
	base := client.MergeFrom(w.DeepCopy())
	w.Status.Restarts++
	return r.Status().Patch(ctx, w, base)
}
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one finding."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.go").write_text(_SOURCE, "utf-8")
    return tmp_path


def _session() -> Session:
    return Session(lambda: audit(["."], Settings()), Severity.WARNING)


def test_a_document_that_has_no_findings_any_more_is_cleared(tree: Path) -> None:
    session = _session()
    ((path, findings),) = session.audited()
    assert (path, len(findings)) == ("a.go", 1)
    locked = "MergeFromWithOptions(w.DeepCopy(), client.MergeFromWithOptimisticLock{})"
    (tree / "a.go").write_text(_SOURCE.replace("MergeFrom(w.DeepCopy())", locked), "utf-8")
    assert session.audited() == [("a.go", [])]
    assert session.audited() == []


def test_a_document_that_was_changed_since_the_audit_gets_no_fix(tree: Path) -> None:
    session = _session()
    session.audited()
    write = _SOURCE.split("\n").index("	return r.Status().Patch(ctx, w, base)")
    assert len(session.fixes(str(tree / "a.go"), _SOURCE, write, write)) == 2
    assert session.fixes(str(tree / "a.go"), "\n" + _SOURCE, write, write) == []
    assert session.fixes(str(tree / "a.go"), _SOURCE, 0, 0) == []


class _Editor:
    """The editor's side of the protocol."""

    def __init__(self, tree: Path) -> None:
        command = [sys.executable, "-m", "kontend.cli", "audit", ".", "--isolated", "--lsp"]
        self.process = subprocess.Popen(command, cwd=tree, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, method: str, parameters: Any, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": parameters}
        body = json.dumps(message if number is None else {**message, "id": number}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        length = 0
        while header := self.process.stdout.readline().strip():
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return json.loads(self.process.stdout.read(length))


def test_an_editor_gets_diagnostics_and_a_quick_fix(tree: Path) -> None:
    pytest.importorskip("pygls")
    editor = _Editor(tree)
    uri = uri_of(str(tree / "a.go"))
    editor.send("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": {}}, 1)
    assert editor.receive()["result"]["capabilities"]["codeActionProvider"]
    editor.send("initialized", {})
    document = {"uri": uri, "languageId": "go", "version": 1, "text": _SOURCE}
    editor.send("textDocument/didOpen", {"textDocument": document})
    said = editor.receive()["params"]
    assert (said["uri"], [each["code"] for each in said["diagnostics"]]) == (uri, ["status-patch-without-lock"])
    place = said["diagnostics"][0]["range"]
    wanted = {"textDocument": {"uri": uri}, "range": place, "context": {"diagnostics": []}}
    editor.send("textDocument/codeAction", wanted, 2)
    fix = editor.receive()["result"][0]
    texts = [edit["newText"] for edit in fix["edit"]["changes"][uri]]
    assert texts == ["WithOptions", ", client.MergeFromWithOptimisticLock{}"]
    editor.send("shutdown", None, 3)
    assert editor.receive()["result"] is None
    editor.send("exit", None)
    out, _ = editor.process.communicate()
    assert (editor.process.returncode, out) == (0, b"")


@pytest.mark.usefixtures("tree")
def test_an_editor_cannot_apply_all_fixes_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--lsp", "--fix"]) == 2
    assert "--lsp cannot be combined with --fix" in capsys.readouterr().err
