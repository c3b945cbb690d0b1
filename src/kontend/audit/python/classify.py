"""From recognised Python calls and kopf statements to `Site`s."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from kontend.audit.python.bodies import Body, changes, read_body
from kontend.audit.python.clients import ClientCall
from kontend.audit.python.flow import error_use, provenance, retry_around
from kontend.audit.python.kopf import Handler, PatchWrite
from kontend.audit.python.source.module import Function, Module, bindings
from kontend.audit.site import (
    Base,
    BaseOrigin,
    Content,
    ErrorUse,
    Fact,
    Lock,
    PatchType,
    Place,
    Provenance,
    Resource,
    Role,
    Route,
    Runner,
    Site,
    Target,
    Verb,
    resource_key,
)

_INDEXED = re.compile(r"/\d+(?=/|$|['\"])|/\{(?:\w+_)?(?:[ijkn]|idx|index|pos|position)\}")


def classify_call(
    module: Module,
    call: ClientCall,
    role: Role,
    handler: Handler | None,
    *,
    body: Body | None = None,
    node: ast.Call | None = None,
    via: str = "",
) -> Site:
    """Make a site of a call; a helper's caller passes the body it sends and its own place."""
    place = node or call.node
    given = body if body is not None else read_body(module, call.body, call.node)
    if given.operations and call.patch_type in (PatchType.MERGE, PatchType.STRATEGIC):
        call = replace(call, patch_type=PatchType.JSON)  # the clients send a list of operations as a JSON patch
    targets = _targets(call, given)
    lock = call.lock or _lock(call, given)
    facts = [*_facts(call, given, lock, place), *_late_base(module, call)]
    function = module.function_of(place)
    return Site(
        place=_place(module, place, function, role),
        resource=Resource(call.kind, "status" if call.status else ""),
        content=Content(targets, _named(given.fields), _named(given.lists), removal=_removes(function, given)),
        call=via or call.method,
        verb=call.verb,
        lock=lock,
        route=Route(via),
        runner=runner_of(module, handler),
        object=given.text[:60],
        client=call.library,
        patch_type=call.patch_type,
        base=_base(module, call, given),
        provenance=provenance(module, call.body, place, handler=handler is not None),
        retry=retry_around(module, place, call.body),
        error=error_use(module, place),
        deleting=_deleting(function, handler),
        facts=tuple(facts),
    )


def _place(module: Module, node: ast.AST, function: Function | None, role: Role) -> Place:
    line = getattr(node, "lineno", 0)
    return Place(
        language="python",
        path=module.path,
        line=line,
        end_line=getattr(node, "end_lineno", None) or line,
        function=module.label(function),
        code=" ".join(module.text(node).split())[:400],
        role=role,
    )


def runner_of(module: Module, handler: Handler | None) -> Runner:
    """Return what runs one write after another: kopf for the handlers of one resource, else one process for a file."""
    key = resource_key(handler.resource) if handler is not None else ""
    return Runner(f"resource:{key}" if key else module.path, handler.resource if handler else module.path)


_DELETION = re.compile(r"(?i)delet|finaliz|terminat|cleanup|clean_up|teardown|remove|stop|destroy")


def _removes(function: Function | None, body: Body) -> bool:
    """Decide whether finalizers are only taken away: set to nothing, filtered, or in a function that says so."""
    if "metadata.finalizers" not in body.fields:
        return False
    if function is not None and re.search(r"(?i)(remove|strip|drop|clear)\w*finalizer", function.name):
        return True
    return re.search(r"finalizers['\"]?\s*[:=]\s*(None|\[\]|\[\w+ for )", body.text) is not None


def _deleting(function: Function | None, handler: Handler | None) -> bool:
    if handler is not None and "delete" in handler.events:
        return True
    return function is not None and _DELETION.search(function.name) is not None


def _named(paths: set[str]) -> tuple[str, ...]:
    return tuple(sorted(paths))


def _targets(call: ClientCall, body: Body) -> tuple[Target, ...]:
    if call.status:
        return (Target.STATUS,)
    if call.verb in (Verb.CREATE, Verb.DELETE):
        return (Target.OBJECT,)
    targets: set[Target] = set()
    for path in body.fields:
        head, _, rest = path.partition(".")
        if head == "status":
            targets.add(Target.STATUS)
        elif head == "metadata" and rest.startswith("finalizers"):
            targets.add(Target.FINALIZERS)
        elif head == "metadata" and rest.startswith(("ownerReferences", "owner_references")):
            targets.add(Target.OWNER_REFERENCES)
        elif head == "metadata":
            targets.add(Target.LABELS)
        elif head in ("spec", "data", "stringData"):
            targets.add(Target.SPEC)
    return tuple(target for target in Target if target in targets) or (Target.OBJECT,)


def _lock(call: ClientCall, body: Body) -> Lock:
    if call.verb in (Verb.CREATE, Verb.DELETE):
        return Lock.NONE
    if call.verb is Verb.UPDATE:
        if body.stripped:
            return Lock.UNLOCKED
        return Lock.UNLOCKED if body.literal and not body.guarded and body.fields else Lock.VERSIONED
    if body.guarded:
        return Lock.LOCKED
    if body.parameter and not body.known:
        return Lock.UNKNOWN
    return Lock.UNLOCKED if body.known or body.fields else Lock.UNKNOWN


def _base(module: Module, call: ClientCall, body: Body) -> Base:
    if call.library == "kontend":
        patch = call.node.args[1] if len(call.node.args) > 1 and call.verb is Verb.PATCH else None
        return Base(BaseOrigin.INLINE, body.text[:120], body.line, span=_span(module, patch))
    if body.parameter and not body.known:
        return Base(BaseOrigin.PARAMETER, body.text[:120], body.line)
    span = _span(module, call.body) if body.read_name and isinstance(call.body, ast.Dict) else (0, 0)
    return Base(BaseOrigin.BODY, body.text[:120], body.line, snapshot=body.read_name, span=span)


def _span(module: Module, node: ast.expr | None) -> tuple[int, int]:
    """Return the bytes of an expression; a name is followed to the call that it was bound to."""
    if isinstance(node, ast.Name):
        values = bindings(module, node.id, node)
        node = values[-1] if values else None
    if node is None or node.end_lineno is None or node.end_col_offset is None:
        return (0, 0)
    starts = module.line_starts
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset


def _facts(call: ClientCall, body: Body, lock: Lock, place: ast.AST) -> list[Fact]:
    line = getattr(place, "lineno", 0)
    facts: list[Fact] = []
    carries_status = call.status or any(path.startswith("status") for path in body.fields)
    merge = call.verb is Verb.PATCH and call.patch_type is not PatchType.JSON
    replaces = merge and call.patch_type is not PatchType.STRATEGIC  # built-in lists have merge keys
    if merge and lock is Lock.UNLOCKED and carries_status and (body.status_read or (body.from_read and body.stripped)):
        facts.append(
            Fact(
                "status-read-modify-write-unguarded",
                line,
                "the status that was read is sent back whole, without the resourceVersion it was read at",
            )
        )
    elif (replaces and lock is Lock.UNLOCKED and carries_status) or (
        replaces
        and lock is Lock.UNLOCKED
        and body.rebuilt
        and not any("finalizers" in path or "owner" in path for path in body.rebuilt)
    ):
        facts += _list_facts(body, line)
    unguarded = lock is Lock.UNLOCKED and call.verb in (Verb.PATCH, Verb.UPDATE)
    if unguarded and body.counters and call.library != "kopf":  # kopf runs one object's handlers in turn
        said = f"{', '.join(sorted(body.counters))} is the value that was read plus a number"
        facts.append(Fact("counter-without-lock", line, said))
    if unguarded and merge and body.sent_back and not carries_status:
        said = f"{', '.join(sorted(body.sent_back))} was read and is sent back whole, without its resourceVersion"
        facts.append(Fact("read-modify-write-unguarded", line, said))
    if call.patch_type is PatchType.JSON and lock is not Lock.LOCKED:
        hit = next(
            (path for op, path in body.operations if op in ("remove", "replace", "add") and _INDEXED.search(path)), None
        )
        if hit is not None:
            facts.append(Fact("json-patch-index-without-test", line, f"{hit} addresses a list element by its index"))
    if call.verb is Verb.DELETE and lock is Lock.NONE:
        facts.append(Fact("delete-without-preconditions", line, "no uid or resourceVersion precondition"))
    return facts


def _late_base(module: Module, call: ClientCall) -> list[Fact]:
    """`base = copy(widget)` after the change of `widget`: the diff that kontend's runtime sends is empty."""
    if call.library != "kontend" or call.verb is not Verb.PATCH or len(call.node.args) < 2:
        return []
    target, patch = call.node.args[0], call.node.args[1]
    if isinstance(patch, ast.Name):
        patch = next(iter(reversed(bindings(module, patch.id, call.node))), patch)
    if not isinstance(patch, ast.Call) or not patch.args or not isinstance(patch.args[0], ast.Name):
        return []
    copies = bindings(module, patch.args[0].id, call.node)
    if not isinstance(target, ast.Name) or not copies:
        return []
    taken = copies[-1].lineno
    lines = [getattr(where, "lineno", 0) for path, _, where in changes(module, target.id, call.node) if path]
    if not lines or max(lines) > taken:
        return []
    said = f"{target.id} is changed at :{lines[-1]}, before the base is taken at :{taken}"
    return [Fact("base-after-mutation", lines[-1], said)]


def _list_facts(body: Body, line: int) -> list[Fact]:
    if not body.rebuilt:
        return []
    said = f"{', '.join(sorted(body.rebuilt))} is rebuilt from a read and sent without its version"
    return [Fact("list-merge-patch-without-lock", line, said)]


def classify_patch(module: Module, write: PatchWrite, role: Role, handler: Handler | None) -> Site:
    """Make a site of a statement that fills kopf's patch."""
    fields = write.body.fields or {write.path}
    node = write.node
    line = getattr(node, "lineno", 0)
    status = write.path.startswith("status") or write.path == "fns" or any(path.startswith("status") for path in fields)
    call = ClientCall(
        ast.Call(ast.Name("patch"), [], []),
        Verb.PATCH,
        "patch",
        "kopf",
        False,
        None,
        handler.resource if handler else "",
        PatchType.MERGE,
    )
    targets = (Target.STATUS,) if status else _targets(call, write.body)
    lock = Lock.LOCKED if write.locked else Lock.UNLOCKED
    facts = [] if write.locked else _facts(call, write.body, lock, node)
    return Site(
        place=_place(module, node, write.function, role),
        resource=Resource(handler.resource if handler else "", "status" if status else ""),
        content=Content(
            targets, _named(fields), _named(write.body.lists), removal=_removes(write.function, write.body)
        ),
        call="patch.fns" if write.path == "fns" else f"kopf's patch ({write.path or 'update'})",
        verb=Verb.PATCH,
        lock=lock,
        runner=runner_of(module, handler),
        client="kopf",
        patch_type=PatchType.JSON if write.locked else PatchType.MERGE,
        base=Base(BaseOrigin.BODY, write.body.text[:120], line),
        provenance=Provenance.HANDLER,
        error=ErrorUse.HANDLED,
        deleting=_deleting(write.function, handler),
        facts=tuple(facts),
    )


def classify_return(module: Module, handler: Handler, node: ast.Return, role: Role) -> Site:
    """Make a site of a handler's return value, which kopf writes to `status.<handler>`."""
    function: Function = handler.function
    said = (
        f"What {function.name} returns is merge-patched to status.{function.name} after the "
        "handler, with no resourceVersion"
    )
    return Site(
        place=_place(module, node, function, role),
        resource=Resource(handler.resource, "status"),
        content=Content((Target.STATUS,), (f"status.{function.name}",)),
        call="return",
        verb=Verb.PATCH,
        lock=Lock.UNLOCKED,
        runner=runner_of(module, handler),
        client="kopf",
        patch_type=PatchType.MERGE,
        base=Base(BaseOrigin.BODY, "", node.lineno),
        provenance=Provenance.HANDLER,
        error=ErrorUse.HANDLED,
        facts=(Fact("kopf-return-writes-status", node.lineno, said),),
    )
