"""``kontend init --go DIR``: writes the test that hands the controllers of a Go package to the explorer.

The test makes each type of the package that has a ``SetupWithManager``, with what a manager gives to fields of the
usual types. Fields of other types are listed in a comment: only ``main`` knows their values. A package without such a
method has functions that add controllers to a manager, and the test calls those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoFunction, GoPackage, GoType
from kontend.cli.command import UsageError
from kontend.cli.go_literals import Made, literals_of, module_of

#: The name of the file that is written.
TEST_FILE: Final = "explore_test.go"
_SETUP: Final = "SetupWithManager"
_CLIENT: Final = "sigs.k8s.io/controller-runtime/pkg/client"
#: What stands for a value of a type: an expression, and the package that it needs.
_VALUES: Final = {
    GoType(_CLIENT, "Client"): ("mgr.GetClient()", ""),
    GoType(_CLIENT, "Reader"): ("mgr.GetAPIReader()", ""),
    GoType("k8s.io/apimachinery/pkg/runtime", "Scheme"): ("mgr.GetScheme()", ""),
    GoType("k8s.io/apimachinery/pkg/api/meta", "RESTMapper"): ("mgr.GetRESTMapper()", ""),
    GoType("sigs.k8s.io/controller-runtime/pkg/cache", "Cache"): ("mgr.GetCache()", ""),
    GoType("k8s.io/client-go/tools/record", "EventRecorder"): ('mgr.GetEventRecorderFor("kontend")', ""),
    GoType("k8s.io/client-go/tools/events", "EventRecorder"): ('mgr.GetEventRecorder("kontend")', ""),
    GoType("k8s.io/client-go/rest", "Config"): ("mgr.GetConfig()", ""),
    GoType("k8s.io/client-go/kubernetes", "Clientset"): (
        "kubernetes.NewForConfigOrDie(mgr.GetConfig())",
        "k8s.io/client-go/kubernetes",
    ),
    GoType("k8s.io/client-go/kubernetes", "Interface"): (
        "kubernetes.NewForConfigOrDie(mgr.GetConfig())",
        "k8s.io/client-go/kubernetes",
    ),
    GoType("github.com/go-logr/logr", "Logger"): ("ctrl.Log", ""),
    GoType("context", "Context"): ("context.Background()", "context"),
    GoType("sigs.k8s.io/controller-runtime", "Manager"): ("mgr", ""),
    GoType("sigs.k8s.io/controller-runtime/pkg/manager", "Manager"): ("mgr", ""),
}
_MANAGERS: Final = frozenset(kind for kind, (value, _) in _VALUES.items() if value == "mgr")
#: Kinds of these are in the scheme of client-go.
_BUILT_IN: Final = "k8s.io/api/"


@dataclass(slots=True)
class _Test:
    """The parts of the test."""

    imports: dict[str, str] = field(default_factory=dict)
    #: The functions that add kinds to the scheme, by the paths of their packages.
    schemes: dict[str, str] = field(default_factory=dict)
    setups: list[str] = field(default_factory=list)


def go_test(directory: Path) -> str:
    """Return the text of the test for a package.

    Raises :class:`UsageError` where no type has a ``SetupWithManager``.
    """
    files = [
        GoFile(str(file), file.read_bytes(), str(directory))
        for file in sorted(directory.glob("*.go"))
        if not file.name.endswith("_test.go")
    ]
    package = GoPackage(str(directory), files)
    functions = [function for function in package.functions.get(_SETUP, []) if function.receiver_type]
    functions = functions or [function for file in files for function in file.functions if _adds(function)]
    if not functions:
        raise UsageError(
            f"{directory}: no type of this package has a method SetupWithManager(mgr ctrl.Manager) error, and no "
            "function takes a manager; controllers that are written with client-go alone are handed over by hand: see "
            "kontend help explore-go"
        )
    test = _Test(
        imports={
            "testing": "",
            "k8s.io/apimachinery/pkg/runtime": "",
            "k8s.io/client-go/kubernetes/scheme": "clientgoscheme",
            "kontend.dev/kontend": "",
            "sigs.k8s.io/controller-runtime": "ctrl",
            "k8s.io/apimachinery/pkg/util/runtime": "utilruntime",
        }
    )
    if "AddToScheme" in package.functions or "AddToScheme" in package.variables:
        test.schemes[""] = "AddToScheme"
    for function in functions:
        _add(test, package, function)
    name = next(syntax.text(node) for node in syntax.captures(files[0].root, "(package_identifier) @name", "name"))
    return "\n".join(_lines(name, test)) + "\n"


def _add(test: _Test, package: GoPackage, function: GoFunction) -> None:
    """Add a controller to the test."""
    file = function.file
    directory = Path(package.directory)
    literals = literals_of(directory, function.receiver_type) if function.receiver_type else []
    for path, alias, name in dict.fromkeys(scheme for made in literals for scheme in made.schemes):
        known = test.imports.get(path) or alias
        if known != "clientgoscheme" and _imports(test, package, {known: path}):
            test.schemes |= {path: f"{known}.{name}"}
    for literal in syntax.captures(function.node, "(composite_literal) @made", "made"):
        kind = file.type_of_node(syntax.field(literal, "type"))
        alias = next((alias for alias, path in file.imports.items() if kind and path == kind.package), "")
        # An object has a kind; the other types in a SetupWithManager are options, predicates and handlers.
        is_object = literal.parent is not None and literal.parent.type == "unary_expression"
        if kind is None or not alias or not is_object or kind.package.startswith((_BUILT_IN, _CLIENT, _RUNTIME)):
            continue
        alias = test.imports.setdefault(kind.package, alias)
        test.schemes.setdefault(kind.package, f"{alias}.AddToScheme")
    arguments = ", ".join(_arguments(test, function))
    if not function.receiver_type:
        test.setups.append(_checked(f"{function.name}({arguments})"))
        return
    struct = package.types.get(function.receiver_type)
    fields: list[str] = []
    unknown: dict[str, str] = {}
    for name, type_name in (struct.fields if struct else {}).items():
        value = _value(test, type_name)
        if value:
            fields.append(f"{name}: {value}")
        else:
            unknown[name] = struct.tags.get(name, type_name.name) if struct else type_name.name
    is_generic = struct is not None and bool(struct.generics)
    given = literals[0].values if literals and not is_generic else {}
    for name in [name for name in unknown if name in given]:
        if _imports(test, package, given[name].imports):
            fields.append(f"{name}: {given[name].text}")
            del unknown[name]
    if unknown:
        unset = ", ".join(f"{name} {kind}" for name, kind in unknown.items())
        test.setups.append(f"// Not set: {unset}. Give them the values that main gives them{_places(literals)}.")
    if is_generic and not any(made.types for made in literals):
        test.setups.append(f"// {function.receiver_type} is generic, and nothing makes one: give it its types.")
    made_of = {made.types: made for made in literals} if is_generic else {"": None}
    for types, made in made_of.items():
        if made is not None:
            test.imports |= {path: alias for alias, path in made.imports}
        new = f"(&{function.receiver_type}{types}{{{', '.join(fields)}}})"
        test.setups.append(_checked(f"{new}.{function.name}({arguments})"))


def _imports(test: _Test, package: GoPackage, needed: Mapping[str, str]) -> bool:
    """Add imports to a test; False where a name means something else there, or may import the package itself."""
    own = {path for file in package.files for path in file.imports.values()}
    module = module_of(Path(package.directory))
    names = {alias or path.rpartition("/")[2]: path for path, alias in test.imports.items()}
    for alias, path in needed.items():
        is_above = f"{path}/".startswith(f"{module}/") and path not in own
        if is_above or names.get(alias, path) != path or test.imports.get(path, alias) not in ("", alias):
            return False
    test.imports |= {path: alias for alias, path in needed.items() if path not in test.imports}
    return True


def _arguments(test: _Test, function: GoFunction) -> Iterator[str]:
    """Yield the arguments of a call of a function."""
    file = function.file
    for _, node in function.parameters:
        kind = file.type_of_node(node)
        value = _value(test, kind) if kind else ""
        if kind and not value:
            test.imports |= {path: alias for alias, path in file.imports.items() if path == kind.package}
        yield value or f"*new({syntax.text(node)})"


def _checked(call: str) -> str:
    return f"if err := {call}; err != nil {{\n\t\t\treturn err\n\t\t}}"


def _places(literals: list[Made]) -> str:
    """Name the places that give the fields of a type their values."""
    more = f", and {len(literals) - 1} more" if len(literals) > 1 else ""
    return f" ({literals[0].place}{more})" if literals else ""


def _adds(function: GoFunction) -> bool:
    """Return whether a function adds something to a manager: it takes one, and returns only an error."""
    given = [function.file.type_of_node(node) for _, node in function.parameters]
    results = [syntax.text(node) for node in function.results]
    is_plain = function.exported and not function.receiver_type and not function.type_parameters
    return is_plain and results == ["error"] and any(kind in _MANAGERS for kind in given)


_RUNTIME: Final = "sigs.k8s.io/controller-runtime"


def _value(test: _Test, kind: GoType) -> str:
    value, needed = _VALUES.get(kind, ("", ""))
    if needed:
        test.imports[needed] = ""
    return value


def _lines(name: str, test: _Test) -> Iterator[str]:
    yield "//go:build kontend && ignore"
    yield ""
    yield f"package {name}"
    yield ""
    yield "import ("
    own = [path for path in test.imports if "." not in path.partition("/")[0]]
    for paths in (sorted(own), sorted(set(test.imports) - set(own))):
        for path in paths:
            alias = test.imports[path]
            yield f'\t{alias} "{path}"' if alias and alias != path.rpartition("/")[2] else f'\t"{path}"'
        if paths is not None and paths == sorted(own):
            yield ""
    yield ")"
    yield ""
    yield "// TestExplore hands the controllers of this package to the explorer: kontend explore --go ."
    yield "func TestExplore(t *testing.T) {"
    yield "\tscheme := runtime.NewScheme()"
    for add in ["clientgoscheme.AddToScheme", *test.schemes.values()]:
        yield f"\tutilruntime.Must({add}(scheme))"
    yield "\tkontend.Explore(t, scheme, func(mgr ctrl.Manager) error {"
    for setup in test.setups:
        yield f"\t\t{setup}"
    yield "\t\treturn nil"
    yield "\t})"
    yield "}"
