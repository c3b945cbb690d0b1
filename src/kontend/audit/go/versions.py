"""Updates whose object carries no resourceVersion, so that the server has nothing to compare.

An object has a version when it was read or written before. A literal has none, and neither has one that a Create has
just refused with AlreadyExists: `Create`, then `Update` of the same literal replaces whatever is there.
"""

from __future__ import annotations

import re

from kontend.audit.go.calls.reads import read_into
from kontend.audit.go.calls.recognition import recognise
from kontend.audit.go.calls.write import Write
from kontend.audit.go.source import syntax
from kontend.audit.go.source.conditions import asks, compared_with_nil, named_like
from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.scope import How, definitions, may_reach, outermost_function
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import resolve_function
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.go.version_changes import empties, version_changes
from kontend.audit.site import Provenance, Verb

_NAMED = re.compile(r"\b(ObjectMeta|Name|GenerateName)\s*:")
_WRAPPED = re.compile(r"\bUnstructured\s*:\s*[*\w]")  # a literal around an object that was made elsewhere
_VERSION = re.compile(r"ResourceVersion")
_ERROR = re.compile(r"[eE]rr")
_CLIENT = re.compile(r"(?i)client(set)?$|^kube$|apireader$")
_FILLED = re.compile(
    r"\b(Unmarshal|Decode|DecodeInto|Convert\w*|FromUnstructured|SetUnstructuredContent|DeepCopyInto)\b"
)


def without_version(workspace: Workspace, write: Write, source: Provenance) -> str:
    """Return why the object of an update has no version, or nothing."""
    name = syntax.root_identifier(write.object)
    outer = outermost_function(write.call)
    if outer is None:
        return ""
    changes = list(version_changes(outer, write.call, name)) if name else []
    if changes and _emptied(changes, write.call):
        return "its resourceVersion is emptied before"
    if name and (changes or _version_copied(workspace, write, outer, name)):
        return ""
    if _after_refused_create(workspace, write, outer):
        return "the Create before it was refused, so the object never got a resourceVersion"
    literal = _literal(workspace, write, source)
    if literal is not None and not (name and _filled(outer, write.call, name)):
        return "it is built here and never read, so it has no resourceVersion"
    return ""


def _emptied(changes: list[Node], use: Node) -> bool:
    """Decide whether the last change of the version that control can flow from to the update empties it."""
    reaching = [change for change in changes if change.end_byte <= use.start_byte and may_reach(change, use)]
    emptying = [change.end_byte for change in reaching if empties(change)]
    return bool(emptying) and not any(change.start_byte >= max(emptying) for change in changes)


def _version_copied(workspace: Workspace, write: Write, outer: Node, name: str) -> bool:
    """Find a call that is given the object and another one that was read, and may copy the version across."""
    for call in syntax.nearby_calls(outer, write.call):
        args = syntax.arguments(call)
        if call.end_byte > write.call.start_byte or len(args) < 2 or name not in map(syntax.root_identifier, args):
            continue
        if _may_copy_version(workspace, write.file, outer, call, name):
            return True
    return False


@syntax.remembered(4096)  # the writes of a long function ask about the same calls
def _may_copy_version(workspace: Workspace, file: GoFile, outer: Node, call: Node, name: str) -> bool:
    """A call whose function sets versions, or which is given an object that was read beside the one named."""
    function = resolve_function(workspace, file, call)
    if function is not None:
        return named_like(function.body, _VERSION)
    others = [
        syntax.selector(arg) for arg in syntax.arguments(call) if syntax.root_identifier(arg) not in (name, "ctx")
    ]
    return any(
        parts and read_into(workspace, file, reading, parts) is not None
        for parts in others
        for reading in syntax.nearby_calls(outer, call)
        if reading.end_byte <= call.start_byte
    )


def replaces_created(workspace: Workspace, write: Write) -> bool:
    """Recognise `Create`, and `Update` of the same object where it exists."""
    outer = outermost_function(write.call)
    return outer is not None and write.verb is Verb.UPDATE and _after_refused_create(workspace, write, outer)


def _after_refused_create(workspace: Workspace, write: Write, outer: Node) -> bool:
    """Find a Create of the same object whose failure leads to this update."""
    parts = syntax.selector(write.object)
    if not parts:
        return False
    for call in syntax.nearby_calls(outer, write.call):
        if call.end_byte > write.call.start_byte or syntax.callee(call)[1] != "Create":
            continue
        created = recognise(workspace, write.file, call)
        if created is None or syntax.selector(created.object) != parts:
            continue
        for parent in syntax.ancestors(write.call):
            if parent.type != "if_statement" or parent.start_byte < outer.start_byte:
                continue
            consequence = parent.child_by_field_name("consequence")
            condition = parent.child_by_field_name("condition")
            if consequence is None or not syntax.inside(write.call, consequence):
                continue
            failing = asks(condition, "IsAlreadyExists") or any(
                not is_nil and named_like(compared, _ERROR) for compared, is_nil in compared_with_nil(condition)
            )
            if failing and (
                (syntax.inside(call, parent) and not syntax.inside(call, consequence)) or _directly_before(call, parent)
            ):
                return not _read_between(write, outer, call, parts)
    return False


def _directly_before(call: Node, check: Node) -> bool:
    previous = syntax.previous(check)
    return previous is not None and syntax.inside(call, previous)


def _read_between(write: Write, outer: Node, created: Node, parts: list[str]) -> bool:
    for call in syntax.nearby_calls(outer, write.call):
        if created.end_byte <= call.start_byte < write.call.start_byte and syntax.callee(call)[1] == "Get":
            args = syntax.arguments(call)
            if len(args) >= 3 and syntax.selector(args[2]) == parts:
                return True
            statement = syntax.enclosing(call, "short_var_declaration", "assignment_statement")
            if statement is not None and syntax.mentions(syntax.field(statement, "left"), parts[0]):
                return True
    return False


def _literal(workspace: Workspace, write: Write, source: Provenance) -> Node | None:
    """Return the literal that the written object is, when nothing else filled it."""
    if source is not Provenance.BUILT or write.verb is not Verb.UPDATE:
        return None
    node = syntax.strip(write.object)
    if node is not None and node.type == "composite_literal":
        return node if _complete(node) else None
    if node is None or node.type != "identifier":
        return None
    reaching = definitions(workspace, write.file, text(node), node)
    if len(reaching) != 1 or reaching[0].how is not How.VALUE:
        return None
    value = syntax.strip(reaching[0].value)
    if value is not None and value.type == "composite_literal":
        return value if _complete(value) else None
    if value is not None and value.type == "call_expression":
        if syntax.callee(value)[1] in ("DeepCopy", "DeepCopyObject"):
            return None  # a copy has the version of its original, which was followed already
        function = resolve_function(workspace, write.file, value)
        body = function.body if function is not None else None
        made = body is not None and not named_like(body, _VERSION) and not _WRAPPED.search(text(body))
        return value if made else None
    return None


def _complete(literal: Node) -> bool:
    """Accept a literal that names its object and carries no version; an empty one is filled by somebody."""
    source = text(literal)
    copied = re.search(r"\bObjectMeta\s*:(?!\s*\w*\.?ObjectMeta\s*\{)", source)
    return bool(_NAMED.search(source)) and not named_like(literal, _VERSION) and not copied


def _filled(outer: Node, use: Node, name: str) -> bool:
    """Find a call that may have put a version in: decoding into the object, or one that also gets the context or a
    client."""
    for call in syntax.nearby_calls(outer, use):
        args = syntax.arguments(call)
        if call.end_byte > use.start_byte or not any(syntax.root_identifier(arg) == name for arg in args):
            continue
        called = syntax.callee(call)[1]
        if _FILLED.search(called) or re.search(r"(?i)\bctx\b|context", text(args[0])):
            return True
        if any(_CLIENT.search(text(arg)) for arg in args if syntax.root_identifier(arg) != name):
            return True
    return False
