"""``kontend audit --lsp``: a language server on standard input and output, with quick fixes.

The tree on disk is audited when a document is opened or saved, because a finding may depend on files that no editor
has open: the other writer, the helper, the caller. Between two saves the findings stay where they were, and a quick fix
is offered only for a document that is as it was audited.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from kontend.audit.finding import Finding, Severity
from kontend.audit.output.editor import QuickFix, Span, quick_fixes, span_of
from kontend.audit.report import Report
from kontend.cli.command import UsageError

Audit = Callable[[], Report]


def serve(audit: Audit, show: Severity) -> int:
    """Serve until the editor says exit."""
    server = make_server(audit, show)
    server.start_io()
    return 0


def make_server(audit: Audit, show: Severity):  # type: ignore[no-untyped-def]  # pygls is an extra
    """Return a language server that publishes what an audit finds."""
    try:
        from lsprotocol import types
        from pygls.lsp.server import LanguageServer
    except ImportError as error:
        raise UsageError(f"--lsp needs {error.name}, which is not installed: pip install 'kontend[lsp]'") from error
    server = LanguageServer("kontend-audit", "v1")
    session = Session(audit, show)

    def publish() -> None:
        for path, findings in session.audited():
            diagnostics = [_diagnostic(types, finding, session.source(path)) for finding in findings]
            server.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri=uri_of(path), diagnostics=diagnostics)
            )

    # pygls hands the server to functions whose parameter has its class as annotation, and `object` counts as that
    def saved(_: types.DidSaveTextDocumentParams) -> None:
        publish()

    def opened(_: types.DidOpenTextDocumentParams) -> None:
        if session.report is None:
            publish()

    def actions(parameters: types.CodeActionParams) -> list[types.CodeAction]:
        document = server.workspace.get_text_document(parameters.text_document.uri)
        offered = session.fixes(
            path_of(document.uri), document.source, parameters.range.start.line, parameters.range.end.line
        )
        return [_action(types, fix) for fix in offered]

    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(opened)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE)(saved)
    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)(actions)
    return server


class Session:
    """The last audit and the documents that it said something about."""

    def __init__(self, audit: Audit, show: Severity) -> None:
        self._audit = audit
        self._show = show
        self._said: set[str] = set()
        self.report: Report | None = None

    def audited(self) -> list[tuple[str, list[Finding]]]:
        """Audit, and return the findings of each document, an empty list for those that have none any more."""
        self.report = self._audit()
        by_path: dict[str, list[Finding]] = {path: [] for path in self._said}
        for finding in self.report.findings:
            if finding.severity.rank >= self._show.rank:
                by_path.setdefault(finding.path, []).append(finding)
        self._said = {path for path, findings in by_path.items() if findings}
        return sorted(by_path.items())

    def source(self, path: str) -> bytes:
        """Return a document as it was audited."""
        return self.report.sources.get(path, b"") if self.report is not None else b""

    def fixes(self, path: str, content: str, first: int, last: int) -> list[QuickFix]:
        """Return the quick fixes of the findings in some lines of a document, if it is as it was audited."""
        if self.report is None:
            return []
        offered: list[QuickFix] = []
        for finding in self.report.findings:
            if os.path.realpath(finding.path) != os.path.realpath(path) or finding.severity.rank < self._show.rank:
                continue
            source = self.source(finding.path)
            at = span_of(finding, source)
            if content.encode("utf-8") == source and at.line <= last and first <= at.end_line:
                offered += quick_fixes(self.report, finding)
        return offered


def uri_of(path: str) -> str:
    """Return the address of a file.

    >>> uri_of("/w/a b.go")
    'file:///w/a%20b.go'
    """
    return "file://" + quote(str(Path(path).absolute()))


def path_of(uri: str) -> str:
    """Return the file of an address.

    >>> path_of("file:///w/a%20b.go")
    '/w/a b.go'
    """
    return unquote(urlsplit(uri).path)


def _range(types, span: Span):  # type: ignore[no-untyped-def]
    return types.Range(
        start=types.Position(line=span.line, character=span.column),
        end=types.Position(line=span.end_line, character=span.end_column),
    )


def _diagnostic(types, finding: Finding, source: bytes):  # type: ignore[no-untyped-def]
    levels = {
        Severity.ERROR: types.DiagnosticSeverity.Error,
        Severity.WARNING: types.DiagnosticSeverity.Warning,
        Severity.INFO: types.DiagnosticSeverity.Information,
    }
    related = [
        types.DiagnosticRelatedInformation(
            location=types.Location(uri=uri_of(place.path), range=_range(types, _line(place.line))), message=place.note
        )
        for place in finding.related
        if place.line
    ]
    advice = f"\nFix: {finding.fix}" if finding.fix else ""
    return types.Diagnostic(
        range=_range(types, span_of(finding, source)),
        message=finding.message + advice,
        severity=levels[finding.severity],
        code=finding.rule,
        source="kontend",
        related_information=related,
    )


def _line(number: int) -> Span:
    return Span(number - 1, 0, number - 1, 0)


def _action(types, fix: QuickFix):  # type: ignore[no-untyped-def]
    changes: dict[str, list[object]] = {}
    for replacement in fix.replacements:
        edit = types.TextEdit(range=_range(types, replacement.span), new_text=replacement.text)
        changes.setdefault(uri_of(replacement.path), []).append(edit)
    return types.CodeAction(
        title=fix.title,
        kind=types.CodeActionKind.QuickFix,
        edit=types.WorkspaceEdit(changes=changes),
        is_preferred=fix.preferred,
    )
