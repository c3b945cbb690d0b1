"""All Python files of an audit to all their sites."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kontend.audit.judge.writers import resource_key
from kontend.audit.python.bodies import read_body
from kontend.audit.python.classify import classify_call, classify_patch, classify_return
from kontend.audit.python.clients import PREFILTER, Call, recognise
from kontend.audit.python.kopf import Handler, handlers, patch_writes, returned_values
from kontend.audit.python.source.module import Function, Module, Unparsable, argument, dotted, parameters, parse
from kontend.audit.site import BaseOrigin, Fact, Role, Site, Target, Verb
from kontend.audit.sources.crds import status_subresources
from kontend.audit.sources.files import Problem


@dataclass(frozen=True, slots=True)
class _Helper:
    """A function that sends a body it is given."""

    module: Module
    function: Function
    call: Call
    parameter: str


def scan(
    sources: dict[str, bytes],
    roles: dict[str, Role],
    manifests: dict[str, bytes],
    problems: list[Problem],
    tell: Callable[[str], None] = lambda _: None,
) -> list[Site]:
    """Return the write sites of Python sources by path; what does not parse becomes a problem."""
    modules: list[Module] = []
    for path in sorted(sources):
        if not PREFILTER.search(sources[path]):
            continue
        tell(path)
        try:
            modules.append(parse(path, sources[path]))
        except Unparsable as error:
            problems.append(Problem(path, str(error)))
    sites: list[Site] = []
    helpers: list[_Helper] = []
    for module in modules:
        try:
            sites += _module_sites(module, roles.get(module.path, Role.PRODUCTION), helpers)
        except RecursionError:
            problems.append(Problem(module.path, "nested too deeply to be analysed; skipped"))
    sites += _helper_sites(modules, helpers, sources, roles)
    return _note_main_resource(sites, manifests)


def _module_sites(module: Module, role: Role, helpers: list[_Helper]) -> Iterator[Site]:
    known = handlers(module)
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        call = recognise(module, node)
        if call is None:
            continue
        function = module.function_of(node)
        site = classify_call(module, call, role, _handler(module, known, function))
        if function is not None and site.base.origin is BaseOrigin.PARAMETER:
            body = read_body(module, call.body, node)
            helpers.append(_Helper(module, function, call, body.parameter))
        yield _mixed(module, site, known, function)
    for write in patch_writes(module, known):
        yield classify_patch(module, write, role, _handler(module, known, write.function))
    for handler, statement in returned_values(module, known):
        yield classify_return(module, handler, statement, role)


def _handler(module: Module, known: dict[Function, Handler], function: Function | None) -> Handler | None:
    while function is not None:
        if function in known:
            return known[function]
        function = module.function_of(function)
    return None


def _mixed(module: Module, site: Site, known: dict[Function, Handler], function: Function | None) -> Site:
    """Note a handler that patches its own object through a client while kopf's `patch` is filled too."""
    handler = _handler(module, known, function)
    if handler is None or site.verb is not Verb.PATCH or resource_key(site.kind) != resource_key(handler.resource):
        return site
    if not any(write.function is handler.function for write in patch_writes(module, known)):
        return site
    said = (
        f"{handler.function.name} also fills kopf's patch for the same {handler.resource}, which "
        "is sent after this call and overwrites it"
    )
    return replace(site, facts=(*site.facts, Fact("kopf-patch-and-client-patch-mixed", site.line, said)))


def _helper_sites(
    modules: list[Module], helpers: list[_Helper], sources: dict[str, bytes], roles: dict[str, Role]
) -> Iterator[Site]:
    """Yield the callers of functions that send what they are given: there the body is made, so there it is judged."""
    by_name: dict[str, list[_Helper]] = {}
    for helper in helpers:
        by_name.setdefault(helper.function.name, []).append(helper)
    if not by_name:
        return
    parsed = {module.path for module in modules}
    words = [name.encode() + b"(" for name in by_name]
    extra = [path for path, source in sources.items() if path not in parsed and any(word in source for word in words)]
    for path in sorted(extra):
        try:
            modules.append(parse(path, sources[path]))
        except Unparsable:
            continue
    for module in modules:
        known = handlers(module)
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call):
                continue
            name = dotted(node.func).split(".")[-1]
            chosen = _chosen(by_name.get(name, ()), module)
            given = _given(chosen, node) if chosen is not None else None
            function = module.function_of(node)
            if chosen is None or given is None or function is chosen.function:
                continue
            call = replace(chosen.call, body=given)
            handler = _handler(module, known, function)
            body = read_body(module, given, node)
            site = classify_call(
                module, call, roles.get(module.path, Role.PRODUCTION), handler, body=body, node=node, via=name
            )
            yield replace(site, owner=handler.resource if handler else module.path)


def _chosen(helpers: tuple[_Helper, ...] | list[_Helper], module: Module) -> _Helper | None:
    if not helpers:
        return None
    return next((helper for helper in helpers if helper.module is module), helpers[0])


def _given(helper: _Helper, node: ast.Call) -> ast.expr | None:
    names = parameters(helper.function)
    if helper.parameter not in names:
        return None
    bound = names[:1] and names[0] in ("self", "cls") and isinstance(node.func, ast.Attribute)
    position = names.index(helper.parameter) - (1 if bound else 0)
    return argument(node, position, helper.parameter)


def _note_main_resource(sites: list[Site], manifests: dict[str, bytes]) -> list[Site]:
    """Status written to the main resource of a kind whose CRD has the subresource is dropped by the server."""
    asked = {resource_key(site.kind) for site in sites if Target.STATUS in site.targets and not site.subresource}
    subresources = status_subresources(manifests, asked)
    noted: list[Site] = []
    for site in sites:
        declared = subresources.get(resource_key(site.kind)) if site.kind else None
        main = Target.STATUS in site.targets and not site.subresource and site.verb in (Verb.PATCH, Verb.UPDATE)
        if declared and main and site.client != "kopf":
            said = (
                f"{site.kind} declares a status subresource, so the server drops the status that is sent "
                "to the main resource"
            )
            site = replace(site, facts=(*site.facts, Fact("status-on-main-resource", site.line, said)))
        noted.append(site)
    return noted
