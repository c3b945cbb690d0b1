"""Python calls that write to the Kubernetes API, by client library.

kubernetes and kubernetes_asyncio have telling method names; kr8s, pykube, lightkube, easykube and raw HTTP need the
import, the arguments or the URL; kontend's own runtime has controller-runtime's words. Each recogniser returns a
`ClientCall` or None, and the first that knows wins.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kontend.audit.python.kinds import object_kind, resource_name
from kontend.audit.python.source.module import Module, argument, bindings, constant, dotted, entries
from kontend.audit.site import Lock, PatchType, Verb

_TYPED = re.compile(r"^(patch|replace|create|delete)_(namespaced|cluster)_(\w+?)(_status|_scale)?(_with_http_info)?$")
_CLUSTER_KINDS = (
    "node|namespace|persistent_volume|custom_resource_definition|cluster_role|cluster_role_binding|priority_class"
    "|storage_class"
)
_UNSCOPED = re.compile(rf"^(patch|replace|create|delete)_({_CLUSTER_KINDS})(_status)?$")
_URL = re.compile(r"/apis/|/api/v1/(?:nodes|pods|persistentvolumes|\{)|/namespaces/|/status\b")
_STATUS_URL = re.compile(r"\bsubresource\s*=\s*['\"]status['\"]")
_VERBS = {"patch": Verb.PATCH, "replace": Verb.UPDATE, "create": Verb.CREATE, "delete": Verb.DELETE}
_CONTENT = {
    "application/json-patch+json": PatchType.JSON,
    "application/merge-patch+json": PatchType.MERGE,
    "application/strategic-merge-patch+json": PatchType.STRATEGIC,
    "application/apply-patch+yaml": PatchType.APPLY,
}
PREFILTER = re.compile(
    rb"\b(patch|replace|create|delete)_(namespaced|cluster|node|namespace|custom)|\bkopf\b|\bkr8s\b|\blightkube\b|\bpykube\b|\beasykube\b"
    rb"|/status\b|/apis/|\bsubresource\b|\bkontend\b|merge-patch\+json|openshift\.dynamic|kubernetes"
)


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A recognised write with its parts."""

    node: ast.Call
    verb: Verb
    method: str
    library: str
    status: bool
    body: ast.expr | None
    kind: str = ""
    patch_type: PatchType | None = None
    lock: Lock | None = None
    main_resource: bool = False
    inherited: bool = False
    """The resource is an attribute of `self`: a subclass decides it."""


def recognise(module: Module, node: ast.Call) -> ClientCall | None:
    """Return what a call writes, or None."""
    if own := _own_status(module, node):
        return own
    if not isinstance(node.func, ast.Attribute):
        return None
    for known in (_official, _lightkube, _own_runtime, _object_patch, _easykube, _pykube_update, _http):
        call = known(module, node, node.func)
        if call is not None:
            return call
    return None


def content_type(module: Module, node: ast.Call, default: PatchType) -> PatchType:
    """Return the patch type a call asks for with `_content_type=`, `content_type=`, `type=` or a header."""
    for keyword in node.keywords:
        if keyword.arg in ("_content_type", "content_type", "headers", "header_params", "type", "patch_type"):
            for said in _constants(module, keyword.value, node):
                if said.partition(";")[0].strip() in _CONTENT:
                    return _CONTENT[said.partition(";")[0].strip()]
            if keyword.arg in ("type", "patch_type"):
                word = (constant(keyword.value) or dotted(keyword.value).rsplit(".", 1)[-1]).lower()
                return {
                    "json": PatchType.JSON,
                    "merge": PatchType.MERGE,
                    "strategic": PatchType.STRATEGIC,
                    "apply": PatchType.APPLY,
                }.get(word, default)
    return default


def _constants(module: Module, node: ast.AST, use: ast.AST, depth: int = 0) -> Iterator[str]:
    """Yield the strings in an expression, and in what the names in it are bound to."""
    for inner in ast.walk(node):
        if constant(inner):
            yield constant(inner)
        elif isinstance(inner, ast.Name) and depth < 3:
            for value in bindings(module, inner.id, use):
                yield from _constants(module, value, use, depth + 1)


def _has_preconditions(node: ast.Call) -> bool:
    return any(
        (isinstance(inner, ast.keyword) and inner.arg == "preconditions") or "preconditions" in entries(inner)
        for inner in ast.walk(node)
    )


def _official(module: Module, node: ast.Call, func: ast.Attribute) -> ClientCall | None:
    match = _TYPED.match(func.attr) or _UNSCOPED.match(func.attr)
    if match is None:
        return None
    verb = _VERBS[match.group(1)]
    inherited = False
    custom = "custom_object" in func.attr
    status = func.attr.endswith(("_status", "_status_with_http_info"))
    kind = match.group(2) if match.re is _UNSCOPED else match.group(3)
    if custom:
        position = 4 if "namespaced" in func.attr else 3
        plural = argument(node, position - 1, "plural")
        kind = resource_name(module, plural, node)
        inherited = isinstance(plural, ast.Attribute) and dotted(plural.value) in ("self", "cls")
        body = argument(node, position + 1 if verb is not Verb.CREATE else position, "body")
        default = PatchType.MERGE
    else:
        scoped = 1 if "namespaced" in func.attr else 0
        body = argument(node, scoped + (0 if verb is Verb.CREATE else 1), "body")
        default = PatchType.STRATEGIC
    patch_type = (
        content_type(module, node, PatchType.JSON if isinstance(body, ast.List) else default)
        if verb is Verb.PATCH
        else None
    )
    if patch_type is PatchType.APPLY:
        verb = Verb.APPLY
    library = "kubernetes_asyncio" if module.uses("kubernetes_asyncio") else "kubernetes"
    lock = Lock.OWNED if verb is Verb.APPLY else None
    if verb is Verb.DELETE:
        lock = Lock.LOCKED if _has_preconditions(node) else Lock.NONE
    return ClientCall(node, verb, func.attr, library, status, body, kind, patch_type, lock, not status, inherited)


def _own_status(module: Module, node: ast.Call) -> ClientCall | None:
    """`await mutate_status(api, obj, change)` and `async with StatusScope(api, obj)` of kontend's runtime."""
    name = dotted(node.func).split(".")[-1]
    if name not in ("mutate_status", "StatusScope") or not module.uses("kontend") or len(node.args) < 2:
        return None
    unlocked = any(
        keyword.arg == "lock" and isinstance(keyword.value, ast.Constant) and not keyword.value.value
        for keyword in node.keywords
    )
    lock = Lock.UNLOCKED if unlocked else Lock.LOCKED
    return ClientCall(node, Verb.PATCH, name, "kontend", True, node.args[1], "", PatchType.MERGE, lock)


def _own_runtime(module: Module, node: ast.Call, func: ast.Attribute) -> ClientCall | None:
    """`await api.status.patch(widget, merge_from(base, lock=True))` of kontend's runtime."""
    if not module.uses("kontend") or func.attr not in ("patch", "update", "create", "delete", "apply") or not node.args:
        return None
    chain = dotted(func).split(".")
    if not any(part in ("api", "client", "live", "_api") for part in chain[:-1]):
        return None
    status = "status" in chain[:-1]
    verb = {
        "patch": Verb.PATCH,
        "update": Verb.UPDATE,
        "create": Verb.CREATE,
        "delete": Verb.DELETE,
        "apply": Verb.APPLY,
    }[func.attr]
    lock: Lock | None = {Verb.UPDATE: Lock.VERSIONED, Verb.CREATE: Lock.NONE, Verb.APPLY: Lock.OWNED}.get(verb)
    kind: PatchType | None = None
    if verb is Verb.DELETE:
        lock = (
            Lock.LOCKED if any(keyword.arg in ("uid", "resource_version") for keyword in node.keywords) else Lock.NONE
        )
    if verb is Verb.PATCH:
        kind, lock = _own_patch(module, node)
    return ClientCall(
        node, verb, ".".join(chain[-2:]) if status else func.attr, "kontend", status, node.args[0], "", kind, lock
    )


def _own_patch(module: Module, node: ast.Call) -> tuple[PatchType, Lock]:
    patch: ast.AST | None = node.args[1] if len(node.args) > 1 else None
    if isinstance(patch, ast.Name):
        types = bindings(module, patch.id, node)
        patch = types[-1] if types else patch
    if not isinstance(patch, ast.Call):
        return PatchType.UNKNOWN, Lock.UNKNOWN
    name = dotted(patch.func).split(".")[-1]
    if name == "merge_from":
        locked = any(
            keyword.arg == "lock" and isinstance(keyword.value, ast.Constant) and keyword.value.value
            for keyword in patch.keywords
        )
        return PatchType.MERGE, Lock.LOCKED if locked else Lock.UNLOCKED
    if name == "json_patch":
        return PatchType.JSON, Lock.LOCKED if _has_test(module, patch, node) else Lock.UNLOCKED
    return PatchType.UNKNOWN, Lock.UNKNOWN


def _has_test(module: Module, operations: ast.AST, use: ast.Call, depth: int = 0) -> bool:
    """Find a `test` operation among those of a JSON patch, also in variables that hold them.

    The operations are read from the syntax tree: the word is also part of paths such as `/status/latest`.
    """
    for node in ast.walk(operations):
        if constant(entries(node).get("op")) == "test":
            return True
        if isinstance(node, ast.Name) and depth < 3:
            held = bindings(module, node.id, use)
            if any(_has_test(module, value, use, depth + 1) for value in held):
                return True
    return False


def _lightkube(module: Module, node: ast.Call, func: ast.Attribute) -> ClientCall | None:
    if (
        not module.uses("lightkube")
        or func.attr not in ("patch", "replace", "apply", "set", "create", "delete")
        or not node.args
    ):
        return None
    if "client" not in dotted(func.value).lower():
        return None
    first = dotted(node.args[0]).split(".")
    status = "Status" in first[1:] or any(keyword.arg == "subresource" for keyword in node.keywords)
    kind = first[0]
    if func.attr in ("patch", "set"):
        body = argument(node, 2 if func.attr == "patch" else 0, "obj")
        default = PatchType.STRATEGIC if func.attr == "patch" else PatchType.MERGE
        patch_type = content_type(module, node, default)
        lock = Lock.OWNED if patch_type is PatchType.APPLY else None
        return ClientCall(
            node,
            Verb.APPLY if lock else Verb.PATCH,
            func.attr,
            "lightkube",
            status,
            body,
            kind,
            patch_type,
            lock,
            not status,
        )
    if func.attr == "apply":
        return ClientCall(
            node, Verb.APPLY, "apply", "lightkube", status, node.args[0], kind, PatchType.APPLY, Lock.OWNED
        )
    verb = _VERBS[func.attr]
    lock = {Verb.UPDATE: Lock.VERSIONED}.get(verb, Lock.NONE)
    return ClientCall(node, verb, func.attr, "lightkube", status, node.args[0], kind, None, lock)


def _object_patch(module: Module, node: ast.Call, func: ast.Attribute) -> ClientCall | None:
    """`obj.patch({...}, subresource="status")` of kr8s and pykube, `resource.patch(body=...)` of the dynamic client."""
    if func.attr not in ("patch", "async_patch", "replace", "server_side_apply"):
        return None
    given = argument(node, 0, "body", "spec")
    names = {keyword.arg for keyword in node.keywords}
    subresource = next((constant(keyword.value) for keyword in node.keywords if keyword.arg == "subresource"), "")
    dynamic = "body" in names
    if func.attr in ("replace", "server_side_apply") and not dynamic:
        return None
    body = given
    if isinstance(given, ast.Name):
        call = bindings(module, given.id, node)
        given = call[-1] if call else given
    looks = given is not None and any(
        key in ("status", "metadata", "spec", "data") and not isinstance(value, ast.Constant)
        for key, value in entries(given).items()
    )
    if isinstance(given, ast.List):
        looks = any("op" in entries(element) for element in given.elts)
    near = any(re.search(r"kube|k8s|kopf|kr8s|openshift", origin) for origin in module.imports.values())
    if not (subresource or (looks and near) or (dynamic and module.uses("kubernetes", "openshift"))):
        return None
    if module.uses("requests", "httpx", "aiohttp") and "url" in names:
        return None
    status = subresource == "status" or dotted(func.value).endswith(".status")
    default = PatchType.JSON if isinstance(given, ast.List) else PatchType.MERGE
    patch_type = content_type(module, node, default)
    library = next((name for name in ("kr8s", "pykube") if module.uses(name)), "dynamic" if dynamic else "object")
    verb = {"replace": Verb.UPDATE, "server_side_apply": Verb.APPLY}.get(func.attr, Verb.PATCH)
    if patch_type is PatchType.APPLY or verb is Verb.APPLY:
        return ClientCall(
            node,
            Verb.APPLY,
            func.attr,
            library,
            status,
            body,
            object_kind(module, func.value, node),
            PatchType.APPLY,
            Lock.OWNED,
        )
    main = not status
    return ClientCall(
        node, verb, func.attr, library, status, body, object_kind(module, func.value, node), patch_type, None, main
    )


def _easykube(module: Module, node: ast.Call, func: ast.Attribute) -> ClientCall | None:
    """`resource = await ekapi.resource("widgets/status"); await resource.replace(name, {...}, namespace=...)`."""
    if func.attr not in ("replace", "patch", "json_patch", "server_side_apply", "create_or_patch") or not isinstance(
        func.value, ast.Name
    ):
        return None
    made = [binding for binding in bindings(module, func.value.id, node) if ".resource(" in module.text(binding)]
    if not made or len(node.args) < 2:
        return None
    name = module.text(made[-1])
    status = "/status" in name
    match = re.search(r"resource\(\s*f?['\"]?([\w{}.]+)", name)
    verb = {"replace": Verb.UPDATE, "server_side_apply": Verb.APPLY}.get(func.attr, Verb.PATCH)
    kind = PatchType.JSON if func.attr == "json_patch" else PatchType.MERGE
    lock = Lock.OWNED if verb is Verb.APPLY else None
    return ClientCall(
        node,
        verb,
        func.attr,
        "easykube",
        status,
        node.args[1],
        match.group(1) if match else "",
        kind if verb is Verb.PATCH else None,
        lock,
        not status,
    )


def _pykube_update(module: Module, node: ast.Call, func: ast.Attribute) -> ClientCall | None:
    """pykube's `obj.update()` sends the whole object with its resourceVersion as a merge patch."""
    if func.attr != "update" or not module.uses("pykube") or not isinstance(func.value, ast.Name):
        return None
    if any(keyword.arg not in ("is_strategic", "subresource") for keyword in node.keywords) or node.args:
        return None
    subresource = next((constant(keyword.value) for keyword in node.keywords if keyword.arg == "subresource"), "")
    return ClientCall(
        node,
        Verb.PATCH,
        "update",
        "pykube",
        subresource == "status",
        None,
        object_kind(module, func.value, node),
        PatchType.MERGE,
        Lock.LOCKED,
    )


def _http(module: Module, node: ast.Call, func: ast.Attribute) -> ClientCall | None:
    """`session.patch(f"{host}/apis/…/status", json={...})` with any HTTP library."""
    if func.attr not in ("patch", "put", "request"):
        return None
    first = 1 if func.attr == "request" else 0
    url = argument(node, first, "url")
    if url is None:
        return None
    if isinstance(url, ast.Name):
        call = bindings(module, url.id, node)
        url = call[-1] if call else url
    shown = module.text(url)
    built = _STATUS_URL.search(shown) is not None  # `resource.get_url(name=..., subresource="status")`
    if not built and not (module.uses("requests", "httpx", "aiohttp", "urllib3") and _URL.search(shown)):
        return None
    method = constant(argument(node, 0, "method")).lower() if func.attr == "request" else func.attr
    verb = {"patch": Verb.PATCH, "put": Verb.UPDATE}.get(method)
    body = argument(node, 99, "json", "data", "content", "body", "payload")
    if verb is None or body is None:
        return None
    status = built or bool(re.search(r"/status\b", shown))
    kind = content_type(module, node, PatchType.MERGE) if verb is Verb.PATCH else None
    match = re.search(r"/([a-z]+)/[^/]*/status", shown) or re.search(r"/([a-z]+)/[^/]*$", shown)
    lock = Lock.OWNED if kind is PatchType.APPLY else None
    return ClientCall(
        node,
        Verb.APPLY if lock else verb,
        func.attr,
        "http",
        status,
        body,
        match.group(1) if match else "",
        kind,
        lock,
        not status,
    )
