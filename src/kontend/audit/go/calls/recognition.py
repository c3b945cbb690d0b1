"""Calls that write to the Kubernetes API, told from those that only look like it.

Three dialects are known: controller-runtime's client (`r.Update(ctx, obj)`, `r.Status().Patch(ctx, obj, patch)`),
client-go's typed and dynamic clients (`clients.AppsV1().Deployments(ns).UpdateStatus(ctx, obj,
metav1.UpdateOptions{})`) and controllerutil's `CreateOrUpdate`. `tracker.Delete(ns, name)` and `storage.Update(ctx,
record)` share the names, so a receiver must be a client: by its type where the source in sight tells it, by its name
and arguments where it does not.
"""

from __future__ import annotations

import re

from kontend.audit.go.calls.typed_clients import TYPED_ONLY, looks_like_context, typed_write
from kontend.audit.go.calls.write import VERBS, Dialect, Write
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoType
from kontend.audit.go.source.scope import definitions
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import type_of
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Verb

CONTROLLER_CLIENT = "sigs.k8s.io/controller-runtime/pkg/client"
_WRITERS = {"Client", "Writer", "WithWatch", "StatusClient", "StatusWriter", "SubResourceWriter", "SubResourceClient"}
_CLIENT_NAME = re.compile(r"client|^(c|cl|kc|k8s|kube|k|w|writer)$|kube(?!let)", re.IGNORECASE)
_WRITE_METHODS = ("Update", "Patch", "Create", "Delete")
_IDENTIFIER = re.compile(r"^(ID|Id|id|Name|name|Key|key|UID|URL|Path|path)$")
_OTHER_CLIENT = re.compile(
    r"http|rest|s3|redis|aws|gcp|azure|docker|grpc|helm|registry|sql|vault|etcd|oauth|github|slack|rpc|storage|cache",
    re.IGNORECASE,
)
_API_PACKAGE = re.compile(r"^k8s\.io/|/apis?(/|$)|/v\d+\w*$|sigs\.k8s\.io|unstructured")

PREFILTER = re.compile(
    rb"\.\s*(Status\(\)|Update(\w*Status|Scale|Approval|EphemeralContainers|Resize)?|Finalize|Patch|Create(Or(Update|Patch))?|Delete(AllOf|Collection)?|Apply(\w*Status)?|SubResource)\s*\("
)


def find_writes(workspace: Workspace, file: GoFile) -> list[Write]:
    """Return the writes of a file in source order."""
    writes = (recognise(workspace, file, call) for call in syntax.calls(file.root))
    return [write for write in writes if write is not None]


def recognise(workspace: Workspace, file: GoFile, call: Node) -> Write | None:
    """Return what a call writes, or None when it is not an API write."""
    key = (call.start_byte, call.end_byte)
    known = file.recognised
    if key not in known:
        known[key] = _recognise(workspace, file, call)
    write = known[key]
    return write if isinstance(write, Write) else None


def _recognise(workspace: Workspace, file: GoFile, call: Node) -> Write | None:
    operand, name = syntax.callee(call)
    verb = VERBS.get(name)
    if verb is None or operand is None:
        return None
    args = syntax.arguments(call)
    if not args or any(_asks_for_dry_run(option) for option in args[2:]):
        return None
    if verb is Verb.CREATE_OR_UPDATE:
        if len(args) >= 4 and text(operand) in file.imports:
            return Write(file, call, Dialect.CONTROLLERUTIL, verb, name, args[1], "", args[2], None, tuple(args[3:]))
        return None
    subresource, client = _subresource(operand)
    typed = typed_write(workspace, file, call, operand, name)
    if typed is not None:
        return typed
    if not subresource and _is_status_writer(workspace, file, operand):
        subresource = "status"
    if name in TYPED_ONLY or len(args) < 2:
        return None
    if subresource:
        if not looks_like_context(workspace, file, args[0]):
            return None
    elif library_patcher(workspace, file, client, name):
        return Write(file, call, Dialect.LIBRARY, verb, name, client, "", args[1], None, tuple(args[2:]))
    elif _own_method(workspace, file, client, name) or not is_client(workspace, file, client, args):
        return None
    if verb is Verb.APPLY and not subresource and not _applies(workspace, file, client, args[1]):
        return None
    if verb is Verb.PATCH and len(args) < 3:
        return None
    patch = args[2] if verb is Verb.PATCH else None
    rest = args[3:] if verb is Verb.PATCH else args[2:]
    return Write(file, call, Dialect.CONTROLLER, verb, name, client, subresource, args[1], patch, tuple(rest))


def _asks_for_dry_run(option: Node) -> bool:
    """Recognise `client.DryRunAll`, and options that hold it: nothing is stored, so nothing can be lost."""
    named = syntax.descend(option, lambda node: node.type in ("identifier", "field_identifier"))
    return any(text(node) == "DryRunAll" for node in named)


def _subresource(operand: Node) -> tuple[str, Node | None]:
    if operand.type == "call_expression":
        inner, name = syntax.callee(operand)
        args = syntax.arguments(operand)
        if name == "Status" and not args and inner is not None:
            return "status", inner
        if name == "SubResource" and len(args) == 1 and inner is not None:
            return text(args[0]).strip('"`') or "?", inner
    return "", operand


def _is_status_writer(workspace: Workspace, file: GoFile, operand: Node) -> bool:
    """`writer := r.Client.Status()` kept in a variable, a parameter or a field is the status subresource still."""
    kind = type_of(workspace, file, operand)
    if kind is not None:
        return kind.package.endswith("controller-runtime/pkg/client") and kind.name in (
            "StatusWriter",
            "SubResourceWriter",
        )
    if operand.type != "identifier":
        return False
    values = [definition.value for definition in definitions(workspace, file, text(operand), operand)]
    return bool(values) and all(
        value is not None and value.type == "call_expression" and _subresource(value)[0] == "status" for value in values
    )


_PATCHERS = re.compile(r"(?:^|[:/])patch$")
"""Packages of patch libraries: Cluster API's, Flux's, and the copies of them that projects keep."""


def library_patcher(workspace: Workspace, file: GoFile, receiver: Node | None, name: str) -> bool:
    """Recognise Cluster API's patch helper and Flux's serial patcher, which merge conditions and lock
    them."""
    if name != "Patch" or receiver is None:
        return False
    kind = type_of(workspace, file, receiver)
    if kind is not None:
        return kind.name in ("Helper", "SerialPatcher") and bool(_PATCHERS.search(kind.package))
    parts = syntax.selector(receiver)
    if len(parts) != 1:
        return False
    for definition in definitions(workspace, file, parts[0], receiver):
        if definition.value is None or definition.value.type != "call_expression":
            continue
        operand, called = syntax.callee(definition.value)
        imported = file.imports.get(text(operand), "") if operand is not None else f"dir:{file.directory}"
        if called in ("NewHelper", "NewSerialPatcher") and _PATCHERS.search(imported):
            return True
    return False


def _own_method(workspace: Workspace, file: GoFile, receiver: Node | None, name: str) -> bool:
    """Decide whether the receiver's type declares the method itself, so that no embedded client is called."""
    kind = type_of(workspace, file, receiver)
    directory = workspace.directory_of(kind.package, file.directory) if kind is not None else None
    if kind is None or directory is None:
        return False
    return any(function.receiver_type == kind.name for function in workspace.package(directory).functions.get(name, ()))


def _applies(workspace: Workspace, file: GoFile, receiver: Node | None, argument: Node) -> bool:
    """controller-runtime's own `Apply` takes an apply configuration; many other things are called Apply."""
    kind = type_of(workspace, file, argument)
    if kind is not None and (kind.name.endswith("ApplyConfiguration") or "applyconfiguration" in kind.package):
        return True
    owner = type_of(workspace, file, receiver)
    return owner is not None and bool(is_client_type(workspace, file, owner))


def is_client(workspace: Workspace, file: GoFile, receiver: Node | None, args: list[Node]) -> bool:
    """Decide whether the receiver of `Update(ctx, obj)` is an API client."""
    if receiver is None or not looks_like_context(workspace, file, args[0]):
        return False
    kind = type_of(workspace, file, receiver)
    if kind is not None:
        known = is_client_type(workspace, file, kind)
        if known is not None:
            return known
        named = re.search(r"k8s|kube|controller|client|openshift", f"{kind.package}.{kind.name}", re.IGNORECASE)
        if not kind.package.startswith("dir:") and not named:
            return False
    parts = syntax.selector(receiver) or [syntax.callee(receiver)[1] if receiver.type == "call_expression" else ""]
    if text(receiver) in file.imports or _OTHER_CLIENT.search(parts[-1]):
        return False  # a function of a package, or some other service's client
    if not _CLIENT_NAME.search(parts[-1]) and not (kind and _CLIENT_NAME.search(kind.name)):
        return False
    return _looks_like_object(workspace, file, args[1])


def is_client_type(workspace: Workspace, file: GoFile, kind: GoType, depth: int = 0) -> bool | None:
    """Decide whether a type is a writing client; None when its package cannot be seen."""
    if kind.package == CONTROLLER_CLIENT or kind.package.endswith("controller-runtime/pkg/client"):
        return kind.name in _WRITERS
    struct = workspace.type(kind, file.directory)
    if struct is None:
        return False if kind.function or kind.package.startswith("dir:") else None
    if depth > 3:
        return None
    answers = [is_client_type(workspace, struct.file, embedded, depth + 1) for embedded in struct.embedded]
    if any(answers):
        return True
    if struct.interface and (signatures := [struct.methods[name] for name in _WRITE_METHODS if name in struct.methods]):
        # An interface of the audited code: Kubernetes' clients take an object, other services take what is theirs.
        return any(len(kinds) > 1 and text(kinds[1]).endswith("Object") for kinds in signatures)
    return None if struct.interface and not answers and _CLIENT_NAME.search(kind.name) else False


def _looks_like_object(workspace: Workspace, file: GoFile, node: Node) -> bool:
    if node.type in ("interpreted_string_literal", "raw_string_literal", "func_literal", "int_literal", "nil"):
        return False
    kind = type_of(workspace, file, node)
    if kind is None:
        parts = syntax.selector(node)
        return len(parts) < 2 or not _IDENTIFIER.match(parts[-1])
    if kind.package.startswith("dir:"):
        struct = workspace.type(kind, file.directory)
        return struct is not None and any(base.name == "ObjectMeta" for base in struct.embedded)
    return bool(_API_PACKAGE.search(kind.package)) or kind.name == "Object"
