"""Writes through clients that are made for one kind.

client-go's typed and dynamic clients, with a context (`clients.AppsV1().Deployments(ns).UpdateStatus(ctx, obj,
metav1.UpdateOptions{})`) and, as before Kubernetes 1.18, without; wrangler's generated controllers
(`widgets.UpdateStatus(obj)`); library-go's operator clients (`client.UpdateOperatorStatus(ctx, version, status)`).
"""

from __future__ import annotations

import re

from kontend.audit.go.calls.write import VERBS, Dialect, Write
from kontend.audit.go.source import syntax
from kontend.audit.go.source.package import GoFile, GoType
from kontend.audit.go.source.syntax import Node, text
from kontend.audit.go.source.types import type_of
from kontend.audit.go.source.workspace import Workspace
from kontend.audit.site import Verb

_NAMED_SUBRESOURCES = {
    "UpdateStatus": "status",
    "ApplyStatus": "status",
    "UpdateScale": "scale",
    "UpdateApproval": "approval",
    "UpdateEphemeralContainers": "ephemeralcontainers",
    "UpdateResize": "resize",
    "Finalize": "finalize",
}
TYPED_ONLY = (*_NAMED_SUBRESOURCES, "DeleteCollection")
_OPERATOR_ONLY = tuple(name for name in VERBS if "Operator" in name or "StaticPod" in name)
_META = "apimachinery/pkg/apis/meta/v1"
_OPTIONS = re.compile(r"\b(\w+)\.(?:Update|Patch|Create|Delete|Apply)Options\b")
_OPTIONS_TYPE = re.compile(r"^(?:Update|Patch|Create|Delete|Apply)Options$")
_TYPED_CHAIN = re.compile(r"\.[A-Z]\w*V\d+\w*\(\)\s*\.\s*[A-Z]\w*\(", re.DOTALL)
_TYPED_PACKAGE = re.compile(r"/clientset/|client-go/kubernetes/typed/|client-go/dynamic$|/generated/clientset")
_PATCH_TYPE = re.compile(r"PatchType$")
_GENERATED_CONTROLLERS = re.compile(r"/generated/(controllers|norman)/|wrangler/(.*/)?generic$")
_CONTEXT = re.compile(r"\bctx\b|ctx$|Ctx$|^context\.|\.Context\b|[cC]ontext(\(\))?$|^t?c$")


def looks_like_context(workspace: Workspace, file: GoFile, node: Node) -> bool:
    """Decide whether an argument is a context, by its name or its type."""
    if _CONTEXT.search(text(node)):
        return True
    kind = type_of(workspace, file, node)
    return kind is not None and kind.name == "Context"


def typed_write(workspace: Workspace, file: GoFile, call: Node, operand: Node, name: str) -> Write | None:
    """Return the write that a call of a client for one kind makes, or None when it is no such call."""
    args, verb = syntax.arguments(call), VERBS[name]
    if name in _OPERATOR_ONLY or (name == "UpdateStatus" and _library_go(file, operand)):
        return _operator(workspace, file, call, operand, name, args)
    if name == "DeleteAllOf" or not args:
        return None
    if _generated_controller(workspace, file, operand):
        return _by_generated_controller(file, call, operand, name, args)
    if len(args) >= 2 and _is_client_go(workspace, file, operand, args, name):
        with_context = args if looks_like_context(workspace, file, args[0]) else [args[0], *args]
        return _client_go(file, call, verb, name, operand, with_context)
    if len(args) == 1 and verb in (Verb.UPDATE, Verb.CREATE) and _TYPED_CHAIN.search(text(operand)):
        return _client_go(file, call, verb, name, operand, [args[0], *args])
    return None


def _is_client_go(workspace: Workspace, file: GoFile, operand: Node, args: list[Node], name: str) -> bool:
    if any(_meta_options(workspace, file, arg) for arg in args[1:]) or _TYPED_CHAIN.search(text(operand)):
        return True
    if name == "Patch" and len(args) > 3 and _PATCH_TYPE.search(text(args[2])):
        return True
    kind = type_of(workspace, file, operand)
    return kind is not None and kind.name.endswith("Interface") and bool(_TYPED_PACKAGE.search(kind.package))


def _meta_options(workspace: Workspace, file: GoFile, options: Node) -> bool:
    """`metav1.PatchOptions{}` belongs to client-go, also when a variable holds it; `client.PatchOptions{}` and anybody
    else's options do not."""
    match = _OPTIONS.search(text(options))
    if match is not None:
        return file.imports.get(match.group(1), "").endswith(_META)
    if options.type != "identifier":
        return False
    kind = type_of(workspace, file, options)
    return kind is not None and kind.package.endswith(_META) and bool(_OPTIONS_TYPE.match(kind.name))


def cached_getter(workspace: Workspace, file: GoFile, operand: Node) -> bool:
    """Decide whether the receiver is a cache that wrangler generates for a kind: `widgets.Cache()`."""
    if operand.type == "call_expression":
        owner, name = syntax.callee(operand)
        return name == "Cache" and owner is not None and _generated_controller(workspace, file, owner)
    kind = type_of(workspace, file, operand)
    return kind is not None and kind.name.endswith("Cache") and bool(_GENERATED_CONTROLLERS.search(kind.package))


def _generated_controller(workspace: Workspace, file: GoFile, operand: Node) -> bool:
    """Decide whether the receiver is a controller or client that wrangler generates for a kind."""
    kind = type_of(workspace, file, operand)
    if kind is not None:
        return _generated(kind)
    parts = syntax.selector(operand)
    if not parts and operand.type == "call_expression":  # core.Secret().Update(obj)
        factory, _ = syntax.callee(operand)
        owner = type_of(workspace, file, factory) if factory is not None else None
        return owner is not None and _generated(owner)
    return False


def _generated(kind: GoType) -> bool:
    return bool(_GENERATED_CONTROLLERS.search(kind.package)) and not kind.name.endswith("Cache")


def _by_generated_controller(file: GoFile, call: Node, operand: Node, name: str, args: list[Node]) -> Write:
    """Bring wrangler's arguments to the order of client-go: `Patch(namespace, name, type, data, subresources...)`."""
    position = next((at for at, arg in enumerate(args) if _PATCH_TYPE.search(text(arg))), 0)
    if name == "Patch" and position and position + 1 < len(args):
        data, *subresources = args[position + 1 :]
        args = [args[0], args[position - 1], args[position], data, data, *subresources]
    else:
        args = [args[0], *args]
    return _client_go(file, call, VERBS[name], name, operand, args)


def _client_go(file: GoFile, call: Node, verb: Verb, name: str, operand: Node, args: list[Node]) -> Write:
    subresource = _NAMED_SUBRESOURCES.get(name, "")
    if verb is Verb.PATCH and len(args) >= 4:
        trailing = [text(arg).strip('"`') for arg in args[5:]]
        subresource = trailing[0] if trailing else ""
        return Write(file, call, Dialect.CLIENT_GO, verb, name, operand, subresource, args[1], args[3], tuple(args[2:]))
    if (
        verb is Verb.UPDATE and not subresource and len(args) > 3
    ):  # the dynamic client names subresources after the options
        subresource = text(args[3]).strip('"`')
    if name in ("UpdateScale", "UpdateApproval") and len(args) > 2:
        return Write(file, call, Dialect.CLIENT_GO, verb, name, operand, subresource, args[2], None, tuple(args[3:]))
    return Write(file, call, Dialect.CLIENT_GO, verb, name, operand, subresource, args[1], None, tuple(args[2:]))


def _library_go(file: GoFile, operand: Node) -> bool:
    return file.imports.get(text(operand), "").endswith("operator/v1helpers")


def _operator(
    workspace: Workspace, file: GoFile, call: Node, operand: Node, name: str, args: list[Node]
) -> Write | None:
    """Recognise library-go's status writes: an update with the version that was read, or an apply."""
    if len(args) < 2 or not looks_like_context(workspace, file, args[0]):
        return None
    if not _library_go(file, operand) and len(args) < 3:
        return None
    return Write(file, call, Dialect.OPERATOR, VERBS[name], name, operand, "status", None, None, tuple(args[1:]))
