"""Writes docs/api: the reference of the public modules, from their docstrings.

    make api

A test compares the pages with what this would write. This is a generator of its own because the job is small: pdoc
writes HTML, and griffe reads the sources, in which the lazy names of ``kontend`` cannot be found.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

DIRECTORY: Final = Path(__file__).parent.parent / "docs" / "api"
MODULES: Final = (
    "kontend",
    "kontend.controllers",
    "kontend.explore",
    "kontend.plans",
    "kontend.predicates",
    "kontend.testing",
)
#: Sections of a page: a title, and the modules whose names it holds. The rest goes under the last one.
SECTIONS: Final = {
    "kontend": (
        ("The cluster", ("kontend.cluster",)),
        (
            "Controllers and managers",
            ("kontend.runtime.controller", "kontend.runtime.manager", "kontend.runtime.guards"),
        ),
        ("The client", ("kontend.runtime.client",)),
        ("Status, children, owners, finalizers", ("kontend.runtime.writes", "kontend.kube.meta")),
    )
}
_HEAD: Final = "<!-- Made by tools/make_api_reference.py from docstrings. Do not edit. -->\n"
_STARS: Final[dict[Any, str]] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_ROLE: Final = re.compile(r":(?:class|func|meth|mod|attr):`~?([^`]+)`")


def pages() -> dict[str, str]:
    """Return the pages by file name."""
    index = [_HEAD, "# API reference\n", "The public modules. Everything else is private and may change.\n"]
    index += ["| module | purpose |", "|---|---|"]
    made = {}
    for name in MODULES:
        module = import_module(name)
        file = f"{name}.md"
        made[file] = _page(name, module)
        index.append(f"| [`{name}`]({file}) | {_prose(_first_line(module))} |")
    made["README.md"] = "\n".join(index) + "\n"
    return made


def _page(name: str, module: ModuleType) -> str:
    objects = {public: getattr(module, public) for public in sorted(module.__all__, key=_order(module))}
    errors = {public: value for public, value in objects.items() if _is_error(value)}
    rest = {public: value for public, value in objects.items() if public not in errors}
    lines = [_HEAD, f"# {name}\n", _text(_doc(module)), ""]
    for title, homes in SECTIONS.get(name, ()):
        chosen = {public: value for public, value in rest.items() if _home(value).startswith(homes)}
        lines += [f"## {title}\n", *_entries(chosen)]
        rest = {public: value for public, value in rest.items() if public not in chosen}
    if rest:
        lines += [*(["## More\n"] if name in SECTIONS else []), *_entries(rest)]
    if errors:
        lines += ["## Errors\n", "| error | kind of | meaning |", "|---|---|---|"]
        lines += [f"| `{public}` | `{value.__base__.__name__}` | {_row(value)} |" for public, value in errors.items()]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _order(module: ModuleType) -> Any:
    """Classes first, then functions, each by name."""
    return lambda name: (not inspect.isclass(getattr(module, name)), name)


def _entries(objects: dict[str, Any]) -> Iterator[str]:
    for name, value in objects.items():
        if inspect.isclass(value):
            yield from _class(name, value)
        elif callable(value) and hasattr(value, "__code__"):
            prefix = "async " if inspect.iscoroutinefunction(value) else ""
            yield f"### {name}\n"
            yield from _signature(f"{prefix}{name}", inspect.signature(value))
            yield _text(_doc(value)) + "\n"
        else:
            yield f"### {name}\n\n`{_type(value)}`\n"


def _class(name: str, cls: type) -> Iterator[str]:
    yield f"### {name}\n"
    if dataclasses.is_dataclass(cls) or "__init__" in vars(cls):
        yield from _signature(name, _without_self(inspect.signature(vars(cls)["__init__"])))
    yield _text(_doc(cls)) + "\n"
    init = vars(cls).get("__init__")
    if init is not None and not dataclasses.is_dataclass(cls) and init.__doc__:
        yield _text(inspect.cleandoc(init.__doc__)) + "\n"
    attributes = list(_attributes(cls))
    methods = list(_methods(cls))
    if attributes:
        yield "| attribute | meaning |\n|---|---|"
        yield from (f"| `{attribute}` | {_prose(meaning)} |" for attribute, meaning in attributes)
        yield ""
    for member, value in methods:
        if isinstance(value, property):
            yield f"- **`{member}`**: {_summary(value.fget)}"
        else:
            function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            prefix = "async " if inspect.iscoroutinefunction(function) else ""
            shown = _compact(_without_self(inspect.signature(function)))
            yield f"- **`{prefix}{member}{shown}`**: {_summary(function)}"
    if methods:
        yield ""


def _methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the methods and properties of a class, those of its private bases, and those of its annotated attributes.

    ``api.live.get`` is in no class that users can name, so it is listed with the class that has the attribute.
    """
    for base in cls.__mro__:
        private = _home(base).startswith("kontend.") and not any(map(_is_exported, base.__mro__))
        if base is cls or private:
            yield from ((name, value) for name, value in vars(base).items() if _is_public_member(name, value))
    for attribute, annotation in _annotations(cls):
        part = getattr(import_module(_home(cls)), annotation, None)
        if inspect.isclass(part) and part not in cls.__mro__[:1] and not _is_exported(part):
            members = ((name, value) for name, value in vars(part).items() if _is_public_member(name, value))
            yield from ((f"{attribute}.{name}", value) for name, value in members)


def _is_exported(cls: type) -> bool:
    return any(getattr(import_module(name), cls.__name__, None) is cls for name in MODULES)


def _annotations(cls: type) -> Iterator[tuple[str, str]]:
    """Yield the attributes that ``__init__`` sets, with their annotations, where these are names."""
    init = vars(cls).get("__init__")
    if not inspect.isfunction(init) or dataclasses.is_dataclass(cls):
        return
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(init)))):
        match node:
            case ast.AnnAssign(target=ast.Attribute(attr=attribute), annotation=ast.Name(id=annotation)):
                if not attribute.startswith("_"):
                    yield attribute, annotation


def _is_public_member(name: str, value: Any) -> bool:
    if name.startswith("_"):
        return False
    function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    return inspect.isfunction(function) and bool(function.__doc__)


def _attributes(cls: type) -> Iterator[tuple[str, str]]:
    """Yield attributes with their ``#:`` comments, of the class and of its ``__init__``."""
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):
        return
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.AnnAssign, ast.Assign)):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
            comment: list[str] = []
            above = node.lineno - 2
            while above >= 0 and lines[above].strip().startswith("#:"):
                comment.insert(0, lines[above].strip()[2:].strip())
                above -= 1
            if comment and not name.startswith("_"):
                yield name, " ".join(comment)


def _signature(name: str, signature: inspect.Signature) -> Iterator[str]:
    flat = f"{name}{_compact(signature)}"
    if len(flat) > 100:
        parameters = [_parameter(parameter) for parameter in signature.parameters.values()]
        parameters = _with_marks(signature, parameters)
        returns = _compact(signature).rpartition(")")[2]
        flat = f"{name}(\n" + "".join(f"    {parameter},\n" for parameter in parameters) + f"){returns}"
    yield f"```py\n{flat}\n```\n"


def _with_marks(signature: inspect.Signature, shown: list[str]) -> list[str]:
    """Insert the ``*`` before the first keyword-only parameter."""
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    return shown


def _compact(signature: inspect.Signature) -> str:
    parameters = _with_marks(signature, [_parameter(parameter) for parameter in signature.parameters.values()])
    returns = signature.return_annotation
    shown = "" if returns in (inspect.Signature.empty, None, "None") else f" -> {_type(returns)}"
    return f"({', '.join(parameters)}){shown}"


def _parameter(parameter: inspect.Parameter) -> str:
    shown = f"{_STARS.get(parameter.kind, '')}{parameter.name}"
    if parameter.annotation is not inspect.Parameter.empty:
        shown += f": {_type(parameter.annotation)}"
    if parameter.default is not inspect.Parameter.empty:
        default = repr(parameter.default)
        if default.startswith(("<", "environ(")):
            default = "..."
        shown += f" = {default}" if ": " in shown else f"={default}"
    return shown


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:kontend|collections|typing|types)(?:\.\w+)*\.(\w+)", r"\1", text)


def _without_self(signature: inspect.Signature) -> inspect.Signature:
    parameters = [value for name, value in signature.parameters.items() if name not in ("self", "cls")]
    return signature.replace(parameters=parameters)


def _doc(value: Any) -> str:
    if isinstance(value, ModuleType):  # from the source: newer compilers remove the indentation of examples
        return (ast.get_docstring(ast.parse(inspect.getsource(value)), clean=False) or "").strip()
    return inspect.cleandoc(value.__doc__ or "")


def _first_line(value: Any) -> str:
    return _doc(value).partition("\n\n")[0].replace("\n", " ")


def _summary(value: Any) -> str:
    """Return a docstring without its examples, on one line."""
    text = _doc(value).partition("\n\n>>>")[0]
    return _prose(" ".join(text.split()))


def _row(value: Any) -> str:
    return _prose(_first_line(value)).replace("|", "\\|")


def _home(value: Any) -> str:
    return getattr(value, "__module__", "")


def _is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException)


def _prose(text: str) -> str:
    """Turn the markup of docstrings into Markdown."""
    text = _ROLE.sub(lambda match: f"`{match[1].rpartition('.')[2]}`", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text).replace("|", "\\|") if "``" in text else text.replace("|", "\\|")


def _text(doc: str) -> str:
    """Turn a docstring into Markdown: examples become code blocks."""
    blocks = []
    for block in re.split(r"\n\n+", doc):
        if block.lstrip().startswith(">>>"):
            blocks.append(f"```pycon\n{textwrap.dedent(block)}\n```")
        elif block.startswith("    "):
            blocks.append(f"```python\n{textwrap.dedent(block)}\n```")
        else:
            text = _ROLE.sub(lambda match: f"`{match[1].rpartition('.')[2]}`", block)
            blocks.append(re.sub(r"``([^`]+)``", r"`\1`", text))
    return "\n\n".join(blocks)


def main() -> None:
    """Write the pages, and remove pages of modules that are gone."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    made = pages()
    for page in DIRECTORY.glob("*.md"):
        if page.name not in made:
            page.unlink()
    for name, text in made.items():
        (DIRECTORY / name).write_text(text)
    print(f"{len(made)} pages in {DIRECTORY}")


if __name__ == "__main__":
    main()
