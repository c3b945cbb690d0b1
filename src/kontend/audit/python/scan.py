"""All Python files of an audit to all their sites."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kontend.audit.python.bodies import read_body
from kontend.audit.python.classify import classify_call, classify_patch, classify_return
from kontend.audit.python.clients import PREFILTER, recognise
from kontend.audit.python.helpers import Helper, helper_of, helper_sites
from kontend.audit.python.kopf import Handler, PatchWrite, handlers, patch_writes, registered_by_call, returned_values
from kontend.audit.python.source.module import Function, Module, Unparsable, parse
from kontend.audit.site import BaseOrigin, Fact, Role, Site, Verb, resource_key
from kontend.audit.sources.files import Problem


def scan(
    sources: Mapping[str, bytes],
    roles: dict[str, Role],
    problems: list[Problem],
    progress: Callable[[str], None] = lambda _: None,
) -> list[Site]:
    """Return the write sites of Python sources by path; what does not parse becomes a problem."""
    modules: list[Module] = []
    for path in sorted(sources):
        if not PREFILTER.search(sources[path]):
            continue
        progress(path)
        try:
            modules.append(parse(path, sources[path]))
        except Unparsable as error:
            problems.append(Problem(path, str(error), incomplete=True))
    registrations = registered_by_call(modules)
    known = {module.path: handlers(module, registrations) for module in modules}
    sites: list[Site] = []
    helpers: list[Helper] = []
    for module in modules:
        try:
            role = roles.get(module.path, Role.PRODUCTION)
            sites += _module_sites(module, role, known[module.path], helpers)
        except RecursionError:
            problems.append(Problem(module.path, "nested too deeply to be analysed; skipped", incomplete=True))
    if helpers:
        everywhere = {function: handler for handlers in known.values() for function, handler in handlers.items()}
        sites += helper_sites(modules, helpers, roles, everywhere, sources)
    return [replace(site, runner=replace(site.runner, programs=(_program(site.place.path),))) for site in sites]


def _module_sites(module: Module, role: Role, known: dict[Function, Handler], helpers: list[Helper]) -> Iterator[Site]:
    writes = list(patch_writes(module, known))
    for node in module.calls:
        call = recognise(module, node)
        if call is None:
            continue
        function = module.function_of(node)
        body = read_body(module, call.body, node)
        site = classify_call(module, call, role, _handler(module, known, function), body=body)
        helper = helper_of(module, function, call, body, node)
        if helper is not None and (site.base.origin is BaseOrigin.PARAMETER or body.given or body.derived):
            helpers.append(helper)
        yield _mixed(module, site, known, function, writes)
    for write in writes:
        yield classify_patch(module, write, role, _handler(module, known, write.function))
    for handler, statement in returned_values(module, known):
        yield classify_return(module, handler, statement, role)


def _handler(module: Module, known: dict[Function, Handler], function: Function | None) -> Handler | None:
    while function is not None:
        if function in known:
            return known[function]
        function = module.function_of(function)
    return None


def _mixed(
    module: Module, site: Site, known: dict[Function, Handler], function: Function | None, writes: list[PatchWrite]
) -> Site:
    """Note a handler that patches its own object through a client while kopf's `patch` is filled too."""
    handler = _handler(module, known, function)
    if (
        handler is None
        or site.verb is not Verb.PATCH
        or resource_key(site.resource.kind) != resource_key(handler.resource)
    ):
        return site
    if not any(write.function is handler.function for write in writes):
        return site
    said = (
        f"{handler.function.name} also fills kopf's patch for the same {handler.resource}, which "
        "is sent after this call and overwrites it"
    )
    return replace(site, facts=(*site.facts, Fact("kopf-patch-and-client-patch-mixed", site.place.line, said)))


def _program(path: str) -> str:
    """Return the directory of the program that a file belongs to: above the outermost package around it."""
    directory = Path(path).parent
    while (directory / "__init__.py").exists() and directory.parent != directory:
        directory = directory.parent
    return str(directory)
