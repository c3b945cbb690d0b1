"""Wrong uses of kontend in a reconcile: a call with other arguments, a name that an object of ours does not have.

Python says that an argument is missing, not what the function takes. No order of steps makes such a line right, so it
is answered like a misspelled kind, with what is accepted, and is no violation: to explore around it would only bury the
message below a trace.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Mapping
from difflib import get_close_matches
from types import ModuleType, TracebackType
from typing import Any

_PACKAGE = "kontend"


def misuse_of(error: BaseException) -> str:
    """Return what is accepted where ``error`` comes from a wrong use of kontend; empty for any other error.

    >>> from kontend import merge_from
    >>> try:
    ...     merge_from({}).apply()
    ... except AttributeError as error:
    ...     misuse_of(error)
    'a Patch has base, content_type, data, given, lock, replaces_list'
    """
    if isinstance(error, AttributeError):
        return _attributes(error.obj, error.name)
    if isinstance(error, TypeError) and error.__traceback__ is not None:
        return _arguments(error.__traceback__)
    return ""


def _attributes(obj: Any, name: str | None) -> str:
    cls = type(obj)
    if isinstance(obj, dict) and name is not None:
        return f"objects are plain dicts: write [{name!r}] or .get({name!r})"
    if isinstance(obj, list):
        return "lists are plain lists: api.list returns the objects themselves" if name == "items" else ""
    if not _is_ours(cls.__module__):
        return ""
    taken = dir(tuple) if isinstance(obj, tuple) else ()
    names = [known for known in dir(obj) if not known.startswith("_") and known not in taken]
    close = get_close_matches(name or "", names, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"{'an' if cls.__name__[0] in 'AEIOU' else 'a'} {cls.__name__} has {', '.join(names)}{hint}"


def _arguments(trace: TracebackType) -> str:
    """Return how a function of ours is called, where the line that raised calls one.

    The arguments of a call are matched in the frame of its caller, so the innermost frame is the user's. An error from
    inside of the function has a frame of ours below it.
    """
    while trace.tb_next is not None:
        trace = trace.tb_next
    node = _expression_at(trace)
    call = node.value if isinstance(node, ast.Await) else node
    if not isinstance(call, ast.Call):
        return ""
    function = _value(call.func, {**trace.tb_frame.f_globals, **trace.tb_frame.f_locals})
    if not callable(function) or not _is_ours(getattr(function, "__module__", None)):
        return ""
    if isinstance(node, ast.Await):  # what was awaited could not be
        return f"{ast.unparse(call.func)} returns at once: leave out await"
    try:
        signature = inspect.signature(function)
    except ValueError:
        return ""
    parameters = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    plain = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    return f"it is called as {ast.unparse(call.func)}{plain}"


def _expression_at(trace: TracebackType) -> ast.expr | None:
    """Return the expression that a frame was evaluating, from the columns that its code has for each instruction."""
    code = trace.tb_frame.f_code
    line, end_line, column, end_column = list(code.co_positions())[trace.tb_lasti // 2]
    if line is None or end_line is None or column is None or end_column is None:
        return None
    file = linecache.getlines(code.co_filename, trace.tb_frame.f_globals)
    lines = [text.encode() for text in file[line - 1 : end_line]]
    if not lines:
        return None
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    try:
        return ast.parse(b"".join(lines).decode(), mode="eval").body
    except (SyntaxError, UnicodeDecodeError):
        return None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the value of a name or of attributes of one, without running any code of the user."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _value(node.value, names)
    if isinstance(owner, ModuleType) or _is_ours(type(owner).__module__):
        return getattr(owner, node.attr, None)
    return getattr(owner, "__dict__", {}).get(node.attr)


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == _PACKAGE
