"""``kontend import kamera FILE``: translates input files of other tools into scenario files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import orjson
import yaml

from kontend.cli.command import ExitCode, Parser, UsageError, usage_errors, write
from kontend.explore.planned.kamera import translated
from kontend.explore.problems import BadScenario


def parser() -> Parser:
    """Return the parser of the options."""
    made = Parser(
        prog="kontend import",
        description="Translate input files of other tools into scenario files.",
        examples={
            "a kamera input": "kontend import kamera input.json",
            "with its controllers": "kontend import kamera input.json --controller widget=operator:Widgets",
            "with its kinds": "kontend import kamera input.json --kind Widget=Widget.example.com/v1",
        },
        topic="kamera",
    )
    made.add_argument("tool", choices=("kamera",), help="the tool that the file is for")
    made.add_argument("file", type=Path, metavar="FILE", help="its input file (JSON)")
    text = "the import path of a controller, by its name in the file (repeatable)"
    made.add_argument("--controller", action="append", default=[], metavar="NAME=MODULE:CLASS", help=text)
    text = "a kind, by its name in the file (repeatable)"
    made.add_argument("--kind", action="append", default=[], metavar="NAME=KIND.GROUP/VERSION", help=text)
    return made


def run(argv: Sequence[str]) -> int:
    """Run ``kontend import``."""
    options = parser().parse_args(list(argv))
    try:
        document = orjson.loads(options.file.read_bytes())
    except OSError as error:
        raise UsageError(f"{options.file}: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{options.file}: not JSON: {error}") from error
    with usage_errors(BadScenario):
        scenarios, notes = translated(document, _pairs(options.controller), _pairs(options.kind))
    for note in notes:
        sys.stderr.write(f"kontend import: {note}\n")
    if not options.controller:
        sys.stderr.write("kontend import: name the controllers: --controller NAME=MODULE:CLASS, or in the file\n")
    write(yaml.safe_dump(scenarios, sort_keys=False, allow_unicode=True))
    return ExitCode.OK


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"expected NAME=VALUE, found {text!r}")
        pairs[name] = value
    return pairs
