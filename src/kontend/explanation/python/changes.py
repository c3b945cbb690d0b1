"""Changes of Python code, each one remedy at one place: what could be tried to repair a reconcile.

Every change is small and keeps the rest of the file byte for byte. None claims to be right: whoever applies one
explores it. They are found by the syntax of the calls alone, so a change is proposed wherever it can be written down.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Final

from kontend.explanation.change import Change
from kontend.explanation.edits import Edit
from kontend.explanation.python.flow import FLOW
from kontend.explanation.python.source import Source, called, receiver_names
from kontend.explanation.python.statements import keyword_of, name_of
from kontend.explanation.remedies import Remedy

_READS: Final = ("get", "list")
#: Exceptions that hold a conflict, an object that exists, and one that is gone.
_CONFLICTS: Final = frozenset({"Conflict", "ApiError", "Exception", "BaseException"})
_EXISTS: Final = frozenset({"AlreadyExists", "ApiError", "Exception", "BaseException"})


def changes_of(source: Source, lines: frozenset[int]) -> list[Change]:
    """Return the changes of the functions that have some of these lines, in the order of the file."""
    functions = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(node.lineno <= line <= (node.end_lineno or node.lineno) for line in lines)
    ]
    found: dict[tuple[Edit, ...], Change] = {}
    for function in (*functions, *_helpers(source, functions)):
        for kind in (*_KINDS, *FLOW):
            for change in kind(source, function):
                found.setdefault(tuple(sorted(change.edits)), change)
    return sorted(found.values(), key=lambda change: (change.line, change.size))


def _helpers(source: Source, functions: list[ast.FunctionDef | ast.AsyncFunctionDef]) -> list[ast.AST]:
    """Return the methods of the same classes that these functions call."""
    helpers: list[ast.AST] = []
    for function in functions:
        owner = source.class_of(function)
        names = {
            call.func.attr
            for call in ast.walk(function)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        }
        for node in owner.body if owner is not None else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in names:
                helpers += [node] if node not in functions and node not in helpers else []
    return helpers


def _awaited(source: Source, function: ast.AST) -> list[ast.Call]:
    """Return the awaited calls of a function."""
    inside = set(ast.walk(function))
    return [call for call in source.awaited if call in inside]


# Reads


def _live_reads(source: Source, function: ast.AST) -> Iterator[Change]:
    """Read from the server: one read, or all of a function."""
    edits: list[Edit] = []
    first = 0
    for call in _awaited(source, function):
        if not called(call, *_READS) or not receiver_names(call) or "live" in receiver_names(call):
            continue
        assert isinstance(call.func, ast.Attribute)
        at = source.end(call.func.value)
        edits.append(Edit(at, at, ".live"))
        first = first or call.lineno
        yield Change(Remedy.READ_LIVE, call.lineno, (edits[-1],))
    if len(edits) > 1:
        yield Change(Remedy.READ_LIVE, first, tuple(edits))


# Locks


def _locks(source: Source, function: ast.AST) -> Iterator[Change]:
    """Lock a patch that is a difference."""
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
        if name_of(call) not in ("merge_from", "mutate_status"):
            continue
        given = keyword_of(call, "lock")
        if isinstance(given, ast.Constant) and given.value is True:
            continue
        if given is not None:
            yield Change(Remedy.LOCK_PATCH, call.lineno, (source.replaced(given, "True"),))
        elif name_of(call) == "merge_from":
            yield Change(Remedy.LOCK_PATCH, call.lineno, (source.with_argument(call, "lock=True"),))


def _whole_patches(source: Source, function: ast.AST) -> Iterator[Change]:
    """Put the resourceVersion of an object into a patch that is given whole."""
    for call in _awaited(source, function):
        if not called(call, "patch") or len(call.args) < 2 or not isinstance(call.args[0], ast.Name):
            continue
        obj, patch = call.args[0].id, call.args[1]
        if not isinstance(patch, ast.Call) or not patch.args or not isinstance(patch.args[0], ast.Dict):
            continue
        version = f'"resourceVersion": {obj}["metadata"]["resourceVersion"]'
        body = patch.args[0]
        metadata = _value(body, "metadata")
        at = source.start(metadata if isinstance(metadata, ast.Dict) else body) + 1
        text = version if isinstance(metadata, ast.Dict) else f'"metadata": {{{version}}}'
        rest = metadata.keys if isinstance(metadata, ast.Dict) else body.keys
        if metadata is None or isinstance(metadata, ast.Dict):
            yield Change(Remedy.LOCK_WHOLE_PATCH, call.lineno, (Edit(at, at, f"{text}, " if rest else text),))


def _value(body: ast.Dict, name: str) -> ast.expr | None:
    pairs = zip(body.keys, body.values, strict=True)
    return next((value for key, value in pairs if isinstance(key, ast.Constant) and key.value == name), None)


def _applies(source: Source, function: ast.AST) -> Iterator[Change]:
    """Apply without force, or with the version of what was read."""
    for call in _awaited(source, function):
        if not called(call, "apply"):
            continue
        forced = keyword_of(call, "force")
        if forced is None:
            yield Change(Remedy.APPLY_OWN_FIELDS, call.lineno, (source.with_argument(call, "force=False"),))
        elif not (isinstance(forced, ast.Constant) and forced.value is False):
            yield Change(Remedy.APPLY_OWN_FIELDS, call.lineno, (source.replaced(forced, "False"),))
        statement = source.statement(call)
        if not call.args or not isinstance(call.args[0], ast.Name) or statement is None:
            continue
        target = call.args[0].id
        for read in _objects(source, function):
            if read != target:
                line = f'{target}["metadata"]["resourceVersion"] = {read}["metadata"]["resourceVersion"]'
                yield Change(Remedy.LOCK_APPLY, statement.lineno, (_before(source, statement, line),))


def _objects(source: Source, function: ast.AST) -> list[str]:
    """Return the variables that hold an object which the server returned."""
    names: list[str] = []
    for call in _awaited(source, function):
        statement = source.statement(call)
        if not called(call, "get", "apply", "create", "update") or not isinstance(statement, ast.Assign):
            continue
        if len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Name) and isinstance(statement.value, ast.Await):
            names.append(target.id)
    return list(dict.fromkeys(names))


def _before(source: Source, statement: ast.stmt, line: str) -> Edit:
    """An edit that puts a line before a statement."""
    at = source.start(statement)
    return Edit(at, at, f"{line}\n{source.indent(statement)}")


# Deletes


def _deletes(source: Source, function: ast.AST) -> Iterator[Change]:
    """Delete only what was read: a uid, a uid with a version, or a comparison of the owner."""
    for call in _awaited(source, function):
        statement = source.statement(call)
        if called(call, "delete_all_of") and isinstance(statement, ast.Expr):
            yield from _each(source, function, call, statement)
        if not called(call, "delete") or not call.args or not isinstance(call.args[0], ast.Name):
            continue
        obj = call.args[0].id
        uid, version = (f'{name}={obj}["metadata"]["{field}"]' for name, field in _IDENTITY)
        if keyword_of(call, "uid") is None:
            yield Change(Remedy.DELETE_WITH_UID, call.lineno, (source.with_argument(call, uid),))
            yield Change(Remedy.READ_BEFORE_DELETE, call.lineno, (source.with_argument(call, f"{uid}, {version}"),))
        elif keyword_of(call, "resource_version") is None:
            yield Change(Remedy.READ_BEFORE_DELETE, call.lineno, (source.with_argument(call, version),))
        if isinstance(statement, ast.Expr):
            for owner in _objects(source, function):
                if owner != obj:
                    yield _guarded(source, statement, obj, owner)


_IDENTITY: Final = (("uid", "uid"), ("resource_version", "resourceVersion"))


def _guarded(source: Source, statement: ast.stmt, obj: str, owner: str) -> Change:
    """Make a statement depend on the owner of an object."""
    indent = source.indent(statement)
    body = source.text(statement).replace("\n", "\n    ")
    text = f"if is_controlled_by({obj}, {owner}):\n{indent}    {body}"
    edits = (source.replaced(statement, text), *source.imported("is_controlled_by"))
    return Change(Remedy.COMPARE_OWNER, statement.lineno, edits)


def _each(source: Source, function: ast.AST, call: ast.Call, statement: ast.stmt) -> Iterator[Change]:
    """Delete the children of one owner, instead of all that a selector fits."""
    indent, names = source.indent(statement), receiver_names(call)
    arguments = ", ".join(
        [source.text(argument) for argument in call.args]
        + [f"{keyword.arg}={source.text(keyword.value)}" for keyword in call.keywords if keyword.arg != "uid"]
    )
    for owner in _objects(source, function):
        text = (
            f"for child in await {'.'.join(names)}.live.list({arguments}):\n"
            f"{indent}    if is_controlled_by(child, {owner}):\n"
            f'{indent}        await {".".join(names)}.delete(child, uid=child["metadata"]["uid"])'
        )
        edits = (source.replaced(statement, text), *source.imported("is_controlled_by"))
        yield Change(Remedy.LIST_AND_COMPARE_OWNER, statement.lineno, edits)


# Errors


def _errors(source: Source, function: ast.AST) -> Iterator[Change]:
    """Let errors end the reconcile, where they are dropped."""
    for node in ast.walk(function):
        if isinstance(node, ast.ExceptHandler) and _names(node.type) & (_CONFLICTS | _EXISTS):
            body = Edit(source.start(node.body[0]), source.end(node.body[-1]), "raise")
            if not (len(node.body) == 1 and isinstance(node.body[0], ast.Raise)):
                yield Change(_remedy_of(_names(node.type)), node.lineno, (body,))
        elif isinstance(node, ast.Call) and name_of(node) == "suppress":
            for argument in node.args:
                names = _names(argument)
                if names & (_CONFLICTS | _EXISTS):
                    kept = [source.text(other) for other in node.args if other is not argument]
                    edit = Edit(source.end(node.func), source.end(node), f"({', '.join(kept)})")
                    yield Change(_remedy_of(names), node.lineno, (edit,))


def _names(node: ast.expr | None) -> set[str]:
    """Return the exceptions of a handler."""
    if node is None:
        return {"BaseException"}
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in parts
        if isinstance(part, ast.Name | ast.Attribute)
    }


def _remedy_of(names: set[str]) -> Remedy:
    return Remedy.END_ON_CONFLICT if "Conflict" in names else Remedy.END_ON_ERROR


def _tolerated(source: Source, function: ast.AST) -> Iterator[Change]:
    """Go on where an object is gone."""
    for node in ast.walk(function):
        if not isinstance(node, ast.ExceptHandler) or _names(node.type) != {"NotFound"}:
            continue
        if any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
            body = Edit(source.start(node.body[0]), source.end(node.body[-1]), "pass")
            yield Change(Remedy.HANDLE_ABSENCE, node.lineno, (body,))


def _gone(source: Source, function: ast.AST) -> Iterator[Change]:
    """End the reconcile where an object that it reads is gone."""
    for call in _awaited(source, function):
        statement = source.statement(call)
        if not called(call, "get", "delete") or not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
            continue
        if isinstance(statement, ast.Expr):
            indent = source.indent(statement)
            kept = source.text(statement).replace("\n", "\n    ")
            text = f"with suppress(NotFound):\n{indent}    {kept}"
            imports = (*source.imported("NotFound"), *source.imported("suppress", "contextlib"))
            yield Change(Remedy.HANDLE_ABSENCE, statement.lineno, (source.replaced(statement, text), *imports))
            continue
        indent = source.indent(statement)
        text = f"try:\n{indent}    {source.text(statement)}\n{indent}except NotFound:\n{indent}    return None"
        edits = (source.replaced(statement, text), *source.imported("NotFound"))
        yield Change(Remedy.HANDLE_ABSENCE, statement.lineno, edits)


# Creates


def _derived_names(source: Source, function: ast.AST) -> Iterator[Change]:
    """Name an object after the request, instead of by chance."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    arguments = [argument.arg for argument in function.args.args]
    name = "request.name" if "request" in arguments else "name" if "name" in arguments else ""
    if not name:
        return
    for node in ast.walk(function):
        if isinstance(node, ast.keyword) and node.arg == "generate_name":
            edit = Edit(source.start(node), source.end(node), f"name={_extended(source, node.value, name)}")
            yield Change(Remedy.DERIVE_NAME, node.value.lineno, (edit,))
        elif isinstance(node, ast.Call) and called(node, "uuid"):
            yield Change(Remedy.DERIVE_NAME, node.lineno, (source.replaced(node, name),))


def _extended(source: Source, prefix: ast.expr, name: str) -> str:
    """Return the code of a prefix with a name after it."""
    text = source.text(prefix)
    if isinstance(prefix, ast.JoinedStr) and not text.endswith(('"""', "'''")):
        return f"{text[:-1]}{{{name}}}{text[-1]}"
    inner = str(prefix.value) if isinstance(prefix, ast.Constant) else f"{{{text}}}"
    return f'f"{inner}{{{name}}}"'


def _adoptions(source: Source, function: ast.AST) -> Iterator[Change]:
    """Create or take over what is there, with an apply."""
    for call in _awaited(source, function):
        if called(call, "create") and len(call.args) == 1 and not call.keywords:
            assert isinstance(call.func, ast.Attribute)
            end = source.end(call.func)
            yield Change(Remedy.MAKE_REPEATABLE, call.lineno, (Edit(end - len("create"), end, "apply"),))


# Values


def _generations(source: Source, function: ast.AST) -> Iterator[Change]:
    """Report the generation of an object that was read."""
    values: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Dict):
            value = _value(node, "observedGeneration")
            values += [value] if value is not None else []
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            key = node.targets[0].slice
            values += [node.value] if isinstance(key, ast.Constant) and key.value == "observedGeneration" else []
    for value in values:
        for name in _objects(source, function):
            text = f'{name}["metadata"]["generation"]'
            if text != source.text(value):
                yield Change(Remedy.OBSERVED_GENERATION, value.lineno, (source.replaced(value, text),))


def _times(source: Source, function: ast.AST) -> Iterator[Change]:
    """Keep a time that is stored, or leave it out."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None or not isinstance(value, ast.Call) or not called(value, "now"):
                continue
            outer = source.parent(node)
            if isinstance(outer, ast.Assign) and isinstance(outer.targets[0], ast.Subscript):
                target = outer.targets[0]
                stored = f"({source.text(target.value)}.get({source.text(target.slice)}) or {{}})"
                kept = f"{stored}.get({source.text(key)}) or {source.text(value)}"
                yield Change(Remedy.IGNORE_TIME, value.lineno, (source.replaced(value, kept),))
            at = node.keys.index(key)
            start = source.end(node.values[at - 1]) if at else source.start(key)
            later = node.keys[1] if not at and len(node.keys) > 1 else None
            end = source.start(later) if later is not None else source.end(value)
            yield Change(Remedy.IGNORE_TIME, value.lineno, (Edit(start, end, ""),))


def _seen_generations(source: Source, function: ast.AST) -> Iterator[Change]:
    """Believe a status only if it is about the present generation."""
    if not any(isinstance(node, ast.Constant) and node.value == "observedGeneration" for node in ast.walk(source.tree)):
        return  # nobody here reports it, so the write would never come
    names = _objects(source, function)
    if isinstance(function, ast.FunctionDef):  # a question about an object
        names += [argument.arg for argument in function.args.args if argument.arg != "self"]
    tests = [node.test for node in ast.walk(function) if isinstance(node, ast.If)]
    tests += [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    for test in tests:
        for name in dict.fromkeys(names):
            if not any(isinstance(node, ast.Name) for node in ast.walk(test)):
                continue
            about = f'({name}.get("status") or {{}}).get("observedGeneration") == {name}["metadata"]["generation"]'
            yield Change(
                Remedy.COMPARE_GENERATION, test.lineno, (source.replaced(test, f"({source.text(test)}) and {about}"),)
            )


def _defaults(source: Source, function: ast.AST) -> Iterator[Change]:
    """Read a field that may be absent."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        if not isinstance(node.slice, ast.Constant) or not isinstance(node.slice.value, str):
            continue
        outer = source.parent(node)
        key = source.text(node.slice)
        got = f"{source.text(node.value)}.get({key})"
        inner = isinstance(outer, ast.Subscript | ast.Attribute) and outer.value is node
        if node.slice.value not in ("metadata", "apiVersion", "kind"):
            yield Change(
                Remedy.READ_WITH_DEFAULT, node.lineno, (source.replaced(node, f"({got} or {{}})" if inner else got),)
            )


def _comparisons(source: Source, function: ast.AST) -> Iterator[Change]:
    """Write only what differs from what was read."""
    reads = {source.statement(call): call for call in _awaited(source, function) if called(call, "get")}
    for call in _awaited(source, function):
        statement = source.statement(call)
        if not called(call, "update") or not call.args or not isinstance(call.args[0], ast.Name):
            continue
        if not isinstance(statement, ast.Expr):
            continue
        name = call.args[0].id
        for read in reads:
            if not isinstance(read, ast.Assign) or not _assigns(read, name) or read.lineno >= statement.lineno:
                continue
            after = source.end(read)
            kept = Edit(after, after, f"\n{source.indent(read)}before = deepcopy({name})")
            body = source.text(statement).replace("\n", "\n    ")
            guard = source.replaced(statement, f"if {name} != before:\n{source.indent(statement)}    {body}")
            edits = (kept, guard, *source.imported("deepcopy", "copy"))
            yield Change(Remedy.COMPARE_BEFORE_WRITE, statement.lineno, edits)


def _assigns(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)


# Triggers


def _watches(source: Source, function: ast.AST) -> Iterator[Change]:
    """Run again when something that was read changes: own its kind."""
    owner = source.class_of(function)
    if owner is None:
        return
    kinds = [
        source.text(call.args[0])
        for call in _awaited(source, function)
        if called(call, *_READS) and call.args and isinstance(call.args[0], ast.Name)
    ]
    own = next((one for one in owner.body if isinstance(one, ast.Assign) and _assigns(one, "owns")), None)
    kind = next((one for one in owner.body if isinstance(one, ast.Assign) and _assigns(one, "kind")), None)
    for name in dict.fromkeys(kinds):
        if own is not None and isinstance(own.value, ast.Tuple | ast.List):
            if name not in [source.text(each) for each in own.value.elts]:
                at = source.start(own.value) + 1
                yield Change(Remedy.WATCH_KIND, own.lineno, (Edit(at, at, f"{name}, "),))
        elif kind is not None and own is None and source.text(kind.value) != name:
            at = source.end(kind)
            yield Change(Remedy.WATCH_KIND, kind.lineno, (Edit(at, at, f"\n{source.indent(kind)}owns = ({name},)"),))


def _resyncs(source: Source, function: ast.AST) -> Iterator[Change]:
    """Look again after a while."""
    if not isinstance(function, ast.AsyncFunctionDef) or function.name != "reconcile":
        return
    last = function.body[-1]
    edits: list[Edit] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and (
            node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
        ):
            edits.append(source.replaced(node, "return Result(requeue_after=60)"))
    if not isinstance(last, ast.Return | ast.Raise):
        at = source.end(last)
        edits.append(Edit(at, at, f"\n{source.indent(function.body[0])}return Result(requeue_after=60)"))
    if isinstance(function.returns, ast.Constant) and function.returns.value is None:
        edits.append(source.replaced(function.returns, "Result | None"))
    if edits:
        yield Change(Remedy.RUN_AGAIN, function.lineno, (*edits, *source.imported("Result")))


_KINDS: Final[tuple[Callable[[Source, ast.AST], Iterator[Change]], ...]] = (
    _locks,
    _whole_patches,
    _deletes,
    _applies,
    _live_reads,
    _errors,
    _tolerated,
    _gone,
    _derived_names,
    _adoptions,
    _generations,
    _times,
    _seen_generations,
    _defaults,
    _comparisons,
    _watches,
    _resyncs,
)
