"""The surroundings of a Python write: the loop that repeats it on a conflict, and the fate of its exception."""

from __future__ import annotations

import ast
import re

from kontend.audit.python.source.module import Module, bindings, constant, dotted, parameters
from kontend.audit.python.source.reads import is_read
from kontend.audit.site import ErrorUse, Provenance, Retry

_CONFLICT = re.compile(r"\b409\b|[Cc]onflict|CONFLICT")
_READ = re.compile(r"^(get|read|refresh|reload|_get|async_get|async_refresh|fetch)(_|$)")
_LOG = re.compile(r"\b(log|logger|logging|LOG|_log|_logger|LOGGER)\b")


def retry_around(module: Module, node: ast.AST, target: ast.expr | None) -> Retry | None:
    """Return the loop around a write that goes round again on a conflict."""
    for parent in module.above(node):
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return (
                _decorated(module, parent, target)
                if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef)
                else None
            )
        if isinstance(parent, ast.For | ast.While | ast.AsyncFor) and _repeats(parent, node):
            if not isinstance(parent, ast.While) and _names(target) & _names(parent.target):
                return None  # each round writes another object
            return Retry(
                f"the loop on conflict at :{parent.lineno}",
                parent.lineno,
                _reads(parent, target),
                True,
                _blind(module, parent, node),
            )
    return None


def _names(node: ast.AST | None) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)} if node is not None else set()


def _repeats(loop: ast.AST, node: ast.AST) -> bool:
    for statement in ast.walk(loop):
        if not isinstance(statement, ast.Try) or not any(
            inner is node for tried in statement.body for inner in ast.walk(tried)
        ):
            continue
        if any(_CONFLICT.search(ast.unparse(handler)) and not _leaves(handler) for handler in statement.handlers):
            return True
    return False


def _leaves(handler: ast.ExceptHandler) -> bool:
    """An `except` that always raises or returns does not repeat anything."""
    return bool(handler.body) and all(isinstance(statement, ast.Raise | ast.Return) for statement in handler.body)


def _decorated(
    module: Module, function: ast.FunctionDef | ast.AsyncFunctionDef, target: ast.expr | None
) -> Retry | None:
    for decorator in function.decorator_list:
        shown = module.text(decorator)
        if re.search(r"retry|backoff", shown) and _CONFLICT.search(shown):
            return Retry(f"@{shown.split('(')[0]} on conflict", function.lineno, _reads(function, target), True, "")
    return None


def _reads(scope: ast.AST, target: ast.expr | None) -> bool:
    for inner in ast.walk(scope):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute | ast.Name):
            name = dotted(inner.func).split(".")[-1]
            plain = name == "get" and len(inner.args) <= 2 and bool(inner.args) and bool(constant(inner.args[0]))
            if _READ.match(name) and not plain:
                return True
    return target is None


def _blind(module: Module, loop: ast.AST, node: ast.AST) -> str:
    """Find `obj["status"] = status`, where `status` was computed before the loop and `obj` is read in it."""
    inside = {
        name.id
        for inner in ast.walk(loop)
        if isinstance(inner, ast.Assign)
        for target in inner.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    for inner in ast.walk(loop):
        if not isinstance(inner, ast.Assign) or getattr(inner, "lineno", 0) > getattr(node, "lineno", 0):
            continue
        for target in inner.targets:
            whole = (isinstance(target, ast.Subscript) and constant(target.slice) == "status") or (
                isinstance(target, ast.Attribute) and target.attr == "status"
            )
            if not whole or not isinstance(target, ast.Subscript | ast.Attribute):
                continue
            root = inner.value.id if isinstance(inner.value, ast.Name) else dotted(inner.value).split(".")[0]
            owner = dotted(target.value).split(".")[0]
            if (
                owner in inside
                and root
                and root not in inside
                and isinstance(inner.value, ast.Name | ast.Subscript | ast.Attribute)
            ):
                return module.text(inner)
    return ""


def error_use(module: Module, node: ast.AST) -> ErrorUse:
    """Classify what becomes of the exception of a write."""
    child: ast.AST = node
    for parent in module.above(node):
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
            return ErrorUse.RETURNED
        if isinstance(parent, ast.With | ast.AsyncWith) and any(
            "suppress(" in module.text(item.context_expr) for item in parent.items
        ):
            return ErrorUse.DROPPED
        if isinstance(parent, ast.Try) and child in parent.body and parent.handlers:
            broad = [handler for handler in parent.handlers if _catches_conflicts(handler)]
            verdicts = [_handler(module, handler) for handler in broad]
            if verdicts and ErrorUse.RETURNED not in verdicts:
                if ErrorUse.DROPPED not in verdicts:
                    return verdicts[0]
                return ErrorUse.HANDLED if _written_again(module, node, parent) else ErrorUse.DROPPED
        child = parent
    return ErrorUse.RETURNED


_STATUS_WRITE = re.compile(r"(?i)(patch|set|update|replace|write|mark)\w*status|status\w*(patch|set|update)")


def _written_again(module: Module, node: ast.AST, attempt: ast.Try) -> bool:
    """Decide whether the function writes the status once more after a try whose failure it passes over."""
    function = module.function_of(node)
    end = attempt.end_lineno or 0
    if function is None:
        return False
    same = dotted(node.func) if isinstance(node, ast.Call) else ""
    later = [call for call in ast.walk(function) if isinstance(call, ast.Call) and call.lineno > end]
    names = [dotted(call.func) for call in later]
    return any((same and name == same) or _STATUS_WRITE.search(name.split(".")[-1]) for name in names)


_BROAD = re.compile(
    r"^(Exception|BaseException|ApiException|ApiError|APIError|HTTPError|HTTPStatusError|ServerError|ClientError"
    r"|ClientResponseError|OpenApiException|KubernetesError|RequestException|KubernetesException|ApiTypeError"
    r"|DynamicApiError|ConflictError|Conflict)$"
)


def _catches_conflicts(handler: ast.ExceptHandler) -> bool:
    """Decide whether a conflict ends in a handler; `except NotFoundError` lets it pass."""
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    if not any(_BROAD.match(dotted(kind).split(".")[-1]) for kind in kinds):
        return False
    # `if e.status == 404: pass` says that another status is not dropped, when something else follows it.
    return not re.search(
        r"status(_code)?\s*(==|!=)\s*404\b[^\n]*:?\s*\n\s*(pass|return)\s*\n\s*else", ast.unparse(handler)
    )


def _handler(module: Module, handler: ast.ExceptHandler) -> ErrorUse:
    for inner in ast.walk(handler):
        if isinstance(inner, ast.Raise | ast.Continue | ast.Return):
            return ErrorUse.RETURNED
    body = [
        statement
        for statement in handler.body
        if not (
            isinstance(statement, ast.Pass)
            or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        )
    ]
    if not body:
        return ErrorUse.DROPPED
    if all(isinstance(statement, ast.Expr) and _LOG.search(module.text(statement)) for statement in body):
        return ErrorUse.LOGGED
    return ErrorUse.HANDLED


def provenance(module: Module, body: ast.expr | None, node: ast.AST, *, handler: bool) -> Provenance:
    """Return where the data in a body came from."""
    if isinstance(body, ast.Name):
        for parent in module.above(node):
            if isinstance(parent, ast.For | ast.AsyncFor) and any(
                isinstance(inner, ast.Name) and inner.id == body.id for inner in ast.walk(parent.target)
            ):
                return Provenance.LIST_ITEM
        if any(is_read(module, binding, binding) for binding in bindings(module, body.id, node)):
            return Provenance.LIVE_GET
        function = module.function_of(node)
        if function is not None and body.id in parameters(function) and not bindings(module, body.id, node):
            return Provenance.HANDLER if handler else Provenance.PARAMETER
    return Provenance.BUILT if body is not None else Provenance.UNKNOWN
