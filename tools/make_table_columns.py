"""Take the columns of the server's tables, with their descriptions, from the published Go modules.

The columns stand in the source of the server's printers; their descriptions mostly refer to the documentation of a
field. This script resolves both and writes ``src/kontend/kube/data/table_columns.json``: for each kind that
``kontend.kube.printing.kind_cells`` knows, its columns as name, type, format, description and priority, and under the
empty name the two columns of every other kind. Run it again for a new release, with the modules downloaded:

    python tools/make_table_columns.py --release 1.35.0
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from pathlib import Path

from kontend.kube.printing.kind_cells import CELLS

TARGET = Path(__file__).parent.parent / "src" / "kontend" / "kube" / "data" / "table_columns.json"

IMPORT = re.compile(r'^\t(\w+) "k8s\.io/(api|apimachinery)/([^"]+)"', re.MULTILINE)
COLUMNS = re.compile(r"(\w+) := \[\]metav1\.TableColumnDefinition\{\n(.*?)\n\t\}", re.DOTALL)
MORE_COLUMNS = re.compile(r"(\w+) = append\(\1, \[\]metav1\.TableColumnDefinition\{\n(.*?)\n\t\}\.\.\.\)", re.DOTALL)
AGGREGATED = re.compile(r"ColumnDefinitions: \[\]metav1\.TableColumnDefinition\{\n(.*?)\n\t\t\},", re.DOTALL)
COLUMN = re.compile(r'\{Name: "([^"]*)", Type: "([^"]*)"(.*)\},?$')
FORMAT = re.compile(r'Format: "([^"]*)"')
PRIORITY = re.compile(r"Priority: (\d+)")
DESCRIPTION = re.compile(
    r'Description: (?:"((?:[^"\\]|\\.)*)"|(\w+)\.(\w+)\{\}(?:\.(\w+))?\.SwaggerDoc\(\)\["(\w+)"\])'
)
HANDLER = re.compile(r"h\.TableHandler\((\w+), (\w+)\)")
PRINTER = re.compile(r"^func (\w+)\(\w+ \*\w+\.(\w+),", re.MULTILINE)
DOCUMENTED = re.compile(r"var map_(\w+) = map\[string\]string\{\n(.*?)\n\}", re.DOTALL)
SENTENCE = re.compile(r'\t"(\w*)":\s+"((?:[^"\\]|\\.)*)",')

Column = tuple[str, str, str, str, int]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--release", default="1.35.0")
    release = arguments.parse_args().release
    modules = Path(subprocess.check_output(["go", "env", "GOMODCACHE"], text=True).strip()) / "k8s.io"
    source = (modules / f"kubernetes@v{release}/pkg/printers/internalversion/printers.go").read_text()
    library = "0" + release[1:]
    packages = {alias: modules / f"{module}@v{library}" / path for alias, module, path in IMPORT.findall(source)}
    docs = {alias: documentation(path) for alias, path in packages.items() if path.exists()}
    named = {name: columns(body, docs) for name, body in COLUMNS.findall(source)}
    for name, body in MORE_COLUMNS.findall(source):
        named[name] += columns(body, docs)
    kinds = dict(PRINTER.findall(source))
    shown = {kinds[function]: named[name] for name, function in HANDLER.findall(source) if function in kinds}
    meta = docs["metav1"]["ObjectMeta"]
    aggregator = (modules / f"kube-aggregator@v{library}/pkg/registry/apiservice/etcd/etcd.go").read_text()
    aggregated = AGGREGATED.search(aggregator)
    assert aggregated is not None
    text = aggregated[1].replace("swaggerMetadataDescriptions[", "metav1.ObjectMeta{}.SwaggerDoc()[")
    shown["APIService"] = columns(text, docs)
    table: dict[str, list[Column]] = {
        "": [
            ("Name", "string", "name", meta["name"], 0),
            ("Created At", "date", "", meta["creationTimestamp"], 0),
        ],
        **{kind: shown[kind] for kind in sorted(CELLS)},
    }
    lines = [f"{json.dumps(kind)}:{json.dumps(rows, separators=(',', ':'))}" for kind, rows in table.items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(lines)} kinds, {TARGET.stat().st_size} bytes")


def documentation(package: Path) -> dict[str, dict[str, str]]:
    """Return the generated documentation of the fields of a package's types."""
    text = "".join(path.read_text() for path in package.glob("types_swagger_doc_generated.go"))
    return {
        name: {field: json.loads(f'"{sentence}"') for field, sentence in SENTENCE.findall(body)}
        for name, body in DOCUMENTED.findall(text)
    }


def columns(body: str, docs: dict[str, dict[str, dict[str, str]]]) -> list[Column]:
    """The columns in one Go literal."""
    columns: list[Column] = []
    for line in body.splitlines():
        column = COLUMN.search(line)
        if column is None:
            continue
        name, kind, rest = column.groups()
        form, priority = FORMAT.search(rest), PRIORITY.search(rest)
        columns.append(
            (name, kind, form[1] if form else "", described(rest, docs), int(priority[1]) if priority else 0)
        )
    return columns


def described(rest: str, docs: dict[str, dict[str, dict[str, str]]]) -> str:
    """A description, written out or looked up."""
    match = DESCRIPTION.search(rest)
    if match is None:
        return ""
    literal, alias, type_name, member, field = match.groups()
    if literal is not None:
        return str(json.loads(f'"{literal}"'))
    # The one member that is asked for its documentation is an event's reference to its object.
    return docs.get(alias, {}).get("ObjectReference" if member else type_name, {}).get(field, "")


if __name__ == "__main__":
    main()
