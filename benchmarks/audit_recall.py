"""Count the explicit writes in checkouts of public operators that `kontend audit` sees.

The writes are found by regular expressions that share nothing with the auditor: status calls in Go, calls of patch
helpers in Go (`patch.Helper`, `SerialPatcher`, `CreateOrPatch`, functions of the project that take the change as a
closure), and status writes in Python (clients, kopf's patch, functions of the project that are given a status). Give
a directory that holds checkouts by name, and the names of some of them or none. Nothing is fetched.

    python benchmarks/audit_recall.py CHECKOUTS [NAME ...]
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kontend.audit.auditor import audit
from kontend.audit.settings.config import Settings

_GO_STATUS = re.compile(
    r"\.Status\(\)\s*\.\s*(?:Update|Patch|Apply)\s*\(|\)\s*\.\s*(?:UpdateStatus|ApplyStatus)\s*\(\s*ctx"
    r"|SubResource\(\s*\"status\"\s*\)\s*\.\s*(?:Update|Patch|Apply)\s*\("
)
_GO_CREATE_OR_PATCH = re.compile(r"\bCreateOrPatch\s*\(\s*ctx")
_GO_PATCHER = re.compile(r"(?<![.\w])(\w+)\s*(?:,\s*\w+\s*)?:?=\s*patch\.New(?:SerialPatcher|Helper)\(")
_GO_PATCHER_CALL = re.compile(r"\b(?:\w*[pP]atchHelper|\w*[pP]atcher)\.Patch\((?=\s*(?:\w+|context\.\w+\(\)),)")
_GO_FUNCTION_TYPE = re.compile(r"^type (\w+)(?:\[[^\]]*\])? func\(", re.MULTILINE)
_GO_FUNCTION = re.compile(r"^func (?:\([^)]*\) )?(\w+)(?:\[[^\]]*\])?\((.*)$", re.MULTILINE)
_GO_WRITE = re.compile(
    r"(?:[cC]lient|Status\(\)|\br|\bc|Writer)\s*\.(?:Update|Patch)\(\s*ctx|\.\s*(?:Update|Patch|UpdateStatus)\(\s*ctx,"
)
_PY_CLIENT = re.compile(
    r"\.(?:patch|replace)_(?:namespaced|cluster|node|namespace)\w*_status\w*\s*\(|\bsubresource\s*=\s*[\"']status[\"']"
)
_PY_KOPF = re.compile(
    r"(?<![\w.])(?:self\.)?patch(?:\.status|\[[\"']status[\"']\])(?:\[[^\]]*\]|\.\w+)*(?:\s*=[^=]|\.update\()"
)
_PY_FUNCTION = re.compile(r"^( *)(?:async )?def (\w+)\(", re.MULTILINE)
_PY_STATUS_NAME = re.compile(r"(?:set|patch|update|write|replace|apply|save)\w*status|status\w*(?:set|patch|update)")
_PY_CONTENT = re.compile(r"^\s*(?:\)|logger\b[^,]*\)|logger=[^,]*\))")


def main(arguments: list[str]) -> int:
    """Print what is seen of each class, and every line that is not."""
    if not arguments:
        print(__doc__)
        return 2
    root = Path(arguments[0]).resolve()
    names = arguments[1:] or sorted(path.name for path in root.iterdir() if path.is_dir())
    seen: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for name in names:
        os.chdir(root / name)
        report = audit(["."], Settings(include_generated=True))
        lines = {
            (site.place.path, line) for site in report.sites for line in range(site.place.line, site.place.end_line + 1)
        }
        sources = {path: source.decode("utf-8", "replace") for path, source in report.sources.items()}
        for kind, path, start, end in _explicit(sources):
            text = sources[path]
            first, last = text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 1
            shown = text.split("\n")[first - 1].strip()
            if shown.startswith(("//", "#", "*", '"', "`")):
                continue
            counted[kind] += 1
            if any((path, line) in lines for line in range(first, last + 1)):
                seen[kind] += 1
            else:
                print(f"unseen  {kind}: {name}/{path}:{first}: {shown[:120]}")
    for kind in sorted(counted):
        print(f"{kind}: {seen[kind]} of {counted[kind]} seen ({seen[kind] / counted[kind]:.1%})")
    return 0 if all(seen[kind] >= 0.95 * counted[kind] for kind in counted) else 1


def _explicit(sources: dict[str, str]) -> Iterator[tuple[str, str, int, int]]:
    """Yield class, path, start and end of every explicit write."""
    go = {path: text for path, text in sources.items() if path.endswith(".go")}
    python = {path: text for path, text in sources.items() if path.endswith(".py")}
    closures = _go_closure_helpers(go)
    for path, text in go.items():
        for match in _GO_STATUS.finditer(text):
            yield "Go status calls", path, match.start(), match.end()
        for start, end in sorted({match.span() for match in _go_helper_calls(text, closures)}):
            yield "Go patch helpers", path, start, end
    functions = _python_helpers(python)
    for path, text in python.items():
        for pattern in (_PY_CLIENT, _PY_KOPF, *_python_calls(functions)):
            for match in pattern.finditer(text):
                start = text.rfind("\n", 0, match.start()) + 1
                definition = re.match(r"\s*(?:async )?def ", text[start:])
                empty = match.group().endswith("(") and _PY_CONTENT.match(text[match.end() :])
                if not definition and not empty and not (pattern is _PY_KOPF and _own_dictionary(text, start)):
                    yield "Python status writes", path, match.start(), match.end()


def _go_closure_helpers(sources: dict[str, str]) -> set[str]:
    """Return the names of functions that take a change of an object as a closure and write, themselves or through
    another of them."""
    types = {match.group(1) for text in sources.values() for match in _GO_FUNCTION_TYPE.finditer(text)}
    taking: list[tuple[str, list[str], str]] = []
    for text in sources.values():
        for match in _GO_FUNCTION.finditer(text):
            header = match.group(2)
            parameters = re.findall(r"(\w+) (?:\.\.\.)?func\(", header)
            parameters += [name for name, kind in re.findall(r"(\w+) (?:\w+\.)?(\w+)\b", header) if kind in types]
            if parameters:
                end = text.find("\n}", match.end())
                taking.append((match.group(1), parameters, text[match.end() : max(end, match.end())]))
    names: set[str] = set()
    for _ in range(4):
        for name, parameters, body in taking:
            used = "|".join(parameters)
            passed = any(re.search(rf"\b{helper}\(", body) for helper in names) and re.search(rf"\b(?:{used})\b", body)
            if passed or (_GO_WRITE.search(body) and re.search(rf"(?<![.\w])(?:{used})\(", body)):
                names.add(name)
    return names


def _go_helper_calls(text: str, closures: set[str]) -> Iterator[re.Match[str]]:
    yield from _GO_CREATE_OR_PATCH.finditer(text)
    if "patch" in text:
        for name in {match.group(1) for match in _GO_PATCHER.finditer(text)}:
            yield from re.finditer(rf"(?<![.\w]){name}\.Patch\((?=\s*\w+,)", text)
    yield from _GO_PATCHER_CALL.finditer(text)
    for match in re.finditer(r"\b(\w+)\((?!\s*ctx context)[^\n]*\bfunc\(", text):
        if match.group(1) in closures and not text[: match.start()].endswith(("func ", ") ")):
            yield match


def _python_helpers(sources: dict[str, str]) -> set[str]:
    """Return the names of functions named after status that write one, directly or through another."""
    bodies: list[tuple[str, str]] = []
    for text in sources.values():
        definitions = list(_PY_FUNCTION.finditer(text))
        for number, match in enumerate(definitions):
            following = definitions[number + 1].start() if number + 1 < len(definitions) else len(text)
            if _PY_STATUS_NAME.search(match.group(2)):
                bodies.append((match.group(2), text[match.end() : following]))
    names = {name for name, body in bodies if _PY_CLIENT.search(body) or re.search(r"patch\(\s*\{?[\"']status", body)}
    for _ in range(3):
        calls = _python_calls(names)
        names |= {name for name, body in bodies if any(call.search(body) for call in calls)}
    return names


def _own_dictionary(text: str, end: int) -> bool:
    """Decide whether the function so far has made `patch` itself: then the call that sends it is the write."""
    start = max((match.start() for match in _PY_FUNCTION.finditer(text, 0, end)), default=0)
    return re.search(r"^\s*patch\s*=\s*(?:\{|dict\()", text[start:end], re.MULTILINE) is not None


def _python_calls(names: set[str]) -> list[re.Pattern[str]]:
    return [re.compile(rf"\.(?:{'|'.join(sorted(names))})\(")] if names else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
