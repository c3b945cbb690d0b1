"""``kontend report FILE...``: traces as an HTML page, as bug reports, or as data for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from kontend.cli.command import ExitCode, Parser, UsageError, extra, usage_errors, write
from kontend.report.archive import BadTrace, read_archive
from kontend.report.chrome_trace import chrome_trace
from kontend.report.document import Document
from kontend.report.grouping import grouped
from kontend.report.markdown import markdown
from kontend.report.page.contents import results_of
from kontend.report.page.page import page
from kontend.safe_files import write_whole

_PAGE: Final = Path("report.html")


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend report",
        description="Turn traces into a report: by default one HTML page of all of them. Nothing is run.",
        examples={
            "one page of all traces": "kontend report failures/*.zip --html report.html",
            "a bug report": "kontend report failures/lost_update.zip --markdown",
            "a timeline": "kontend report failures/lost_update.zip --perfetto --output trace.json",
        },
        topic="traces",
        epilog="Exit codes: 0 written, 2 usage error.",
    )
    add = made.add_argument
    add("files", nargs="+", metavar="FILE", type=Path, help="a file that kontend explore has written")
    forms = made.add_mutually_exclusive_group()
    forms.add_argument("--html", type=Path, metavar="OUT", help=f"write the page to this file (default: {_PAGE})")
    forms.add_argument("--markdown", action="store_true", help="write a bug report for an issue tracker")
    forms.add_argument("--perfetto", action="store_true", help="write a timeline as Chrome trace JSON, for Perfetto")
    forms.add_argument("--otel", action="store_true", help="write OpenTelemetry spans, a JSON line each (extra: otel)")
    forms.add_argument("--parquet", action="store_true", help="write the steps as a Parquet file (extra: parquet)")
    add("--output", "-o", type=Path, metavar="PATH", help="write to this file instead of the standard output")
    return made


def run(argv: Sequence[str]) -> int:
    """Run ``kontend report``."""
    options = parser().parse_args(list(argv))
    with usage_errors(BadTrace):
        documents = [read_archive(path) for path in options.files]
    if options.markdown:
        archives = zip(documents, options.files, strict=True)
        text = "\n".join(markdown(document, archive=path.name) for document, path in archives)
    elif options.perfetto:
        text = orjson.dumps(chrome_trace(documents)).decode() + "\n"
    elif options.otel:
        with extra("otel", "--otel"):
            from kontend.report.otel import otel_json
        text = otel_json(documents)
    elif options.parquet:
        return _parquet(documents, options.output)
    else:
        target = options.html or options.output or _PAGE
        files = dict.fromkeys(document.source.file for document in documents)
        _write(target, page(results_of(grouped(documents)), title=", ".join(filter(None, files)) or "kontend"))
        write(f"{target}\n")
        return ExitCode.OK
    if options.output is None:
        write(text)
    else:
        _write(options.output, text)
    return ExitCode.OK


def _parquet(documents: Sequence[Document], output: Path | None) -> int:
    with extra("parquet", "--parquet"):
        from kontend.report.parquet import parquet
    if output is None:
        raise UsageError("--parquet: a Parquet file is binary; name it with --output FILE")
    _write(output, parquet(documents))
    return ExitCode.OK


def _write(path: Path, text: str | bytes) -> None:
    try:
        write_whole(path, text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
