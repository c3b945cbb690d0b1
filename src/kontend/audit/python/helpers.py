"""Calls of functions that send a body they are given: `set_status(name, {"phase": "Ready"})`.

A helper is a function whose body, or a part of it, is one of its parameters. The part is made where the helper is
called, so there it is judged: each call is a site of its own, marked with `via`. A helper of a helper is followed too.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from pathlib import PurePath

from kontend.audit.python.bodies import Body, read_body
from kontend.audit.python.classify import classify_call, runner_of
from kontend.audit.python.clients import ClientCall
from kontend.audit.python.flow import error_use
from kontend.audit.python.kinds import class_around, object_kind
from kontend.audit.python.kopf import Handler
from kontend.audit.python.source.module import Function, Module, Unparsable, argument, dotted, parameters, parse
from kontend.audit.site import ErrorUse, Location, Role, Site

_COMMON = {"replace", "update", "patch", "set", "get", "apply", "put", "post", "request", "delete", "create", "run"}
_LEVELS = 3


@dataclass(frozen=True, slots=True)
class Helper:
    """A function that sends what it is given: the parameters it takes parts of the body from, by path."""

    module: Module
    function: Function
    call: ClientCall
    given: tuple[tuple[str, str], ...]
    body: Body
    location: Location
    chain: tuple[Location, ...] = ()
    raises: bool = True
    """The exception of the write reaches the caller; a helper that catches it answers for it itself."""

    @property
    def holder(self) -> str:
        """The class that the function is a method of."""
        parent = self.module.parents.get(self.function)
        return parent.name if isinstance(parent, ast.ClassDef) else ""


def helper_of(module: Module, function: Function | None, call: ClientCall, body: Body, place: ast.AST) -> Helper | None:
    """Return the helper that a function is, if the body of its call comes from its parameters."""
    if function is None:
        return None
    given = (("", body.parameter),) if body.parameter and not body.known else tuple(sorted(body.given.items()))
    given = tuple((path, name) for path, name in given if name not in ("self", "cls"))
    given += tuple((path, "") for path in sorted(body.derived) if path.startswith("status."))
    if not given or not (call.status or any(path.startswith("status") or not path for path, _ in given)):
        return None
    location = Location(module.path, getattr(place, "lineno", 0), function.name)
    raises = error_use(module, place) is ErrorUse.RETURNED
    return Helper(module, function, call, given, body, location, raises=raises)


def helper_sites(
    modules: list[Module],
    helpers: Iterable[Helper],
    roles: dict[str, Role],
    handler_of: dict[Function, Handler],
    sources: Mapping[str, bytes],
) -> Iterator[Site]:
    """Yield a site for every call of a helper, helpers of helpers included.

    Files of `sources` that call a helper and write nothing themselves are parsed and added to `modules`.
    """
    pending, seen = list(helpers), set[tuple[str, str, str]]()
    tree = Tree(sources)
    for _ in range(_LEVELS):
        by_name: dict[str, list[Helper]] = {}
        for helper in pending:
            key = (helper.module.path, helper.holder, helper.function.name)
            if key not in seen:
                seen.add(key)
                by_name.setdefault(helper.function.name, []).append(helper)
        pending = []
        if not by_name:
            return
        tree.helpers.update((name, len(named)) for name, named in by_name.items())
        _parse_callers(modules, by_name, sources)
        for module in modules:
            for node in module.calls:
                named = by_name.get(dotted(node.func).split(".")[-1])
                chosen = _reached(named, module, node, tree) if named else None
                function = module.function_of(node)
                if chosen is None or function is chosen.function:
                    continue
                body = _body(chosen, module, node)
                if body is None:
                    continue
                call = replace(chosen.call, kind=_kind(chosen, module, node))
                handler = _around(module, handler_of, function)
                role = roles.get(module.path, Role.PRODUCTION)
                site = classify_call(module, call, role, handler, body=body, node=node, via=chosen.function.name)
                again = helper_of(module, function, call, body, node)
                if again is not None:
                    chain = (*chosen.chain, again.location)
                    raises = again.raises and chosen.raises
                    pending.append(replace(again, location=chosen.location, chain=chain, raises=raises))
                yield replace(
                    site,
                    runner=runner_of(module, handler),
                    route=replace(site.route, helper=chosen.location, chain=chosen.chain),
                    error=site.error if chosen.raises else ErrorUse.HANDLED,
                )


def _around(module: Module, known: dict[Function, Handler], function: Function | None) -> Handler | None:
    while function is not None:
        if function in known:
            return known[function]
        function = module.function_of(function)
    return None


def _parse_callers(modules: list[Module], names: Iterable[str], sources: Mapping[str, bytes]) -> None:
    """Parse the files that call a helper and write nothing themselves."""
    parsed = {module.path for module in modules}
    called = re.compile(rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb")\(")
    for path in sorted(sources):
        if path not in parsed and called.search(sources[path]):
            try:
                modules.append(parse(path, sources[path]))
            except Unparsable:
                continue


def _reached(helpers: list[Helper], module: Module, node: ast.Call, tree: Tree) -> Helper | None:
    """Return the helper that a call reaches, by what it is called on: a bare name says little."""
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    for helper in sorted(helpers, key=lambda helper: _distance(helper.module.path, module.path)):
        if receiver is None:
            imported = module.imports.get(dotted(node.func), "")
            from_module = imported.endswith(f"{helper.module.stem}.{helper.function.name}")
            if not helper.holder and (helper.module is module or from_module):
                return helper
        elif not helper.holder:
            origin = module.imports.get(dotted(receiver).split(".")[-1], "")
            if origin.split(".")[-1] == helper.module.stem:
                return helper
        elif _is_instance(helper, module, receiver, node, tree):
            return helper
    return None


def _distance(path: str, other: str) -> int:
    """Count the directories between two files, so that a program's own copy of a class comes before another's."""
    if path == other:
        return -1
    parts, others = PurePath(path).parts[:-1], PurePath(other).parts[:-1]
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(parts, others, strict=False))))
    return len(parts) + len(others) - 2 * shared


def _is_instance(helper: Helper, module: Module, receiver: ast.expr, node: ast.Call, tree: Tree) -> bool:
    name = dotted(receiver).split(".")[-1]
    if name in ("self", "cls"):
        around = class_around(module, node)
        return around is not None and helper.holder in tree.ancestors.get(_plain(around.name), {around.name})
    kind = object_kind(module, receiver, node) or name
    if helper.holder in tree.ancestors.get(_plain(kind), ()) or _plain(kind) == _plain(helper.holder):
        return True
    if helper.function.name in _COMMON:
        return False
    if tree.only_helpers(helper.function.name):
        return True
    origins = [origin.split(".") for origin in module.imports.values()]
    return helper.module is module or any(
        parts[-1] == helper.holder or helper.module.stem in parts for parts in origins
    )


Ancestors = dict[str, set[str]]
"""The names of a class and of its ancestors, by the plain form of its name."""

_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)[ \t]*(?:\(([^)]*)\))?[ \t]*:", re.MULTILINE)
_DEFINITION = re.compile(rb"\bdef[ \t]+(\w+)[ \t]*\(")


class Tree:
    """The classes and functions of every source, by name; files that write nothing are read by their text alone."""

    def __init__(self, sources: Mapping[str, bytes]) -> None:
        self.helpers: dict[str, int] = {}
        self._sources = sources
        self.ancestors = _ancestors(sources.values())

    def only_helpers(self, name: str) -> bool:
        """Decide whether every function of a name is a helper, so that it does not matter which one is called."""
        return "_" in name.strip("_") and 0 < self._defined.get(name.encode(), 0) <= self.helpers.get(name, 0)

    @cached_property
    def _defined(self) -> Counter[bytes]:
        return Counter(name for source in self._sources.values() for name in _DEFINITION.findall(source))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _ancestors(sources: Iterable[bytes]) -> Ancestors:
    """Collect the ancestors of every class by name, across files."""
    bases: dict[str, set[str]] = {}
    for source in sources:
        for name, listed in _CLASS.findall(source):
            words = [
                base.partition("[")[0].split(".")[-1].strip() for base in listed.decode("utf-8", "replace").split(",")
            ]
            bases.setdefault(name.decode("utf-8", "replace"), set()).update(filter(str.isidentifier, words))
    ancestors: Ancestors = {}
    for name in bases:
        seen, stack = set[str](), [name]
        while stack:
            current = stack.pop()
            if current not in seen:
                seen.add(current)
                stack += bases.get(current, ())
        ancestors.setdefault(_plain(name), set()).update(seen)
    return ancestors


def _body(helper: Helper, module: Module, node: ast.Call) -> Body | None:
    """Put the arguments of a call in the places of the helper's parameters."""
    names = parameters(helper.function)
    bound = bool(names[:1]) and names[0] in ("self", "cls") and isinstance(node.func, ast.Attribute)
    merged: Body | None = None
    for path, name in helper.given:
        if not name:  # computed by the helper from what it is given
            merged = merged or Body(known=True, line=node.lineno, text=module.text(node))
            merged.fields.add(path)
            continue
        if name not in names:
            continue
        value = argument(node, names.index(name) - (1 if bound else 0), name)
        if value is None:
            continue
        holder: ast.expr = value
        for part in reversed(path.split(".") if path else []):
            holder = ast.copy_location(ast.Dict([ast.copy_location(ast.Constant(part), value)], [holder]), value)
        body = read_body(module, holder, node)
        if merged is None:
            merged = replace(body, fields=set(body.fields), lists=set(body.lists))
            kept = {field for field in helper.body.fields if not any(field == given for given, _ in helper.given)}
            merged.fields |= kept
            merged.version = merged.version or helper.body.version
        else:
            merged.fields |= body.fields
            merged.lists |= body.lists
            merged.counters |= body.counters
    return merged


def _kind(helper: Helper, module: Module, node: ast.Call) -> str:
    """Return the resource: where a class attribute names it, that of the object on which the helper is called."""
    if not helper.call.inherited or not isinstance(node.func, ast.Attribute):
        return helper.call.kind
    return object_kind(module, node.func.value, node)
