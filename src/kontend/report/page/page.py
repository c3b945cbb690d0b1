"""Renders a report as one self-contained HTML file.

Everything that comes from a document is untrusted: names, fields and values of objects, source lines. The file holds
them as JSON in a data block, in which no character can end the block, and the script makes text nodes of them. The
content security policy allows exactly the style and the script of this package, by their hashes, and no network.
Large data is compressed, because a trace repeats the same objects over and over.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final

import orjson

from kontend.report.page.contents import ScenarioResult, page_data

#: The parts of the script, in the order in which they are joined.
_SCRIPTS: Final = (
    "dom",
    "paths",
    "trace",
    "steps",
    "overview",
    "diagram",
    "details",
    "fields",
    "compare",
    "plots",
    "bands",
    "verdict",
    "theme",
    "choices",
    "app",
)
#: Data of more bytes than this is compressed.
_PLAIN: Final = 256 * 1024
#: Violations that the part for browsers without JavaScript lists.
_MOST_SUMMARIES: Final = 100
#: Characters that could end a script element or open a comment in it, or that old parsers take for line ends.
_UNSAFE: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def page(scenarios: Sequence[ScenarioResult], *, title: str = "kontend") -> str:
    """Return the page of some scenarios as HTML.

    >>> "<script>alert" in page([ScenarioResult("<script>alert(1)</script>", "holds")])
    False
    """
    return render(page_data(title, scenarios), summary=_summary(scenarios))


def render(data: Mapping[str, Any], *, summary: str = "", connect: bool = False) -> str:
    """Return a page from its data; ``connect`` lets the script talk to the server that the page comes from."""
    style, script = _asset("page.css"), _script()
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        f"base-uri 'none'; form-action 'none'{'; connect-src ' + chr(39) + 'self' + chr(39) if connect else ''}"
    )
    encoding, text = _encoded(orjson.dumps(data))
    values = {
        "policy": escape(policy),
        "title": escape(str(data["title"])),
        "style": style,
        "summary": summary,
        "encoding": encoding,
        "data": text,
        "script": script,
    }
    parts = _asset("page.html").split("{{")
    # One pass over the template: values that contain the mark of another one stay as they are.
    return parts[0] + "".join(values[name] + rest for name, rest in (part.split("}}", 1) for part in parts[1:]))


def script_safe(data: bytes) -> str:
    """JSON in which no character can end the script element around it.

    >>> script_safe(b'"</script>"')
    '"\\\\u003c/script\\\\u003e"'
    """
    text = data.decode()
    for character, escaped in _UNSAFE.items():
        text = text.replace(character, escaped)
    return text


def _encoded(data: bytes) -> tuple[str, str]:
    if len(data) <= _PLAIN:
        return "json", script_safe(data)
    # mtime=0, so that equal reports have equal bytes.
    return "gzip", base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode()


def _summary(scenarios: Sequence[ScenarioResult]) -> str:
    """Return the verdicts for readers without JavaScript, such as previews of mail."""
    lines: list[str] = []
    for scenario in scenarios:
        lines.append(f"<h2>{escape(scenario.name)}</h2><p>{escape(scenario.sentence or scenario.verdict)}</p>")
        for document in scenario.documents:
            violation = document.violation
            fix = f"<br>Fix: {escape(violation.fix.text)}" if violation.fix else ""
            if violation.fix and violation.fix.diff:
                changed = "\n".join(violation.fix.diff)
                fix += f"<pre>{escape(changed)}</pre>"
            if violation.verified:
                changed = "\n".join(line for hunk in violation.verified.hunks for line in hunk.diff)
                fix += f"<br>Fix ({escape(violation.verified.proof)}): <pre>{escape(changed)}</pre>"
            lines.append(f"<p><b>{escape(violation.property)}</b>: {escape(violation.sentence)}{fix}</p>")
    more = len(lines) - _MOST_SUMMARIES
    return "\n".join(lines[:_MOST_SUMMARIES]) + (f"\n<p>and {more} more</p>" if more > 0 else "")


@cache
def _asset(name: str) -> str:
    return (files("kontend.report.page") / "assets" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    """Return the script: its parts joined in one scope of their own."""
    return '(() => {\n"use strict";\n' + "\n".join(_asset(f"{name}.js") for name in _SCRIPTS) + "})();\n"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
