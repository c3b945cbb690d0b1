"""Recognises a call that is a statement of its own, so that nothing can look at its result.

Python knows for each instruction where its expression begins and ends, and the source tells if there is a statement of
exactly that extent. Without the source, or without positions (``-X no_debug_ranges``), the next instruction tells: the
result is popped off the stack.
"""

from __future__ import annotations

import ast
import dis
import linecache
from functools import lru_cache
from types import FrameType

#: The first and the last line and column of an expression; columns count bytes.
_Extent = tuple[int, int, int, int]


def is_bare(frame: FrameType) -> bool:
    """Return True if the call that a frame is in is a statement of its own."""
    extent = _extent(frame)
    if extent is not None:
        source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
        bare, calls = _calls(source)
        if extent in calls:  # the source is that of the code
            return extent in bare
    return _is_popped(frame)


def _extent(frame: FrameType) -> _Extent | None:
    """Return the extent of the call that a frame is in."""
    for at, (line, end_line, column, end_column) in enumerate(frame.f_code.co_positions()):
        if at * 2 == frame.f_lasti:
            if line is None or end_line is None or column is None or end_column is None:
                return None
            return line, column, end_line, end_column
    return None


@lru_cache(maxsize=32)
def _calls(source: str) -> tuple[frozenset[_Extent], frozenset[_Extent]]:
    """Return the calls of a file that are statements of their own, and all calls."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset(), frozenset()
    nodes = list(ast.walk(tree))
    statements = (node.value for node in nodes if isinstance(node, ast.Expr))
    bare = frozenset(_of(value) for value in statements if isinstance(value, ast.Call))
    return bare, frozenset(_of(node) for node in nodes if isinstance(node, ast.Call))


def _of(node: ast.Call) -> _Extent:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _is_popped(frame: FrameType) -> bool:
    following = (
        instruction for instruction in dis.get_instructions(frame.f_code) if instruction.offset > frame.f_lasti
    )
    first = next((instruction for instruction in following if instruction.opname not in ("CACHE", "NOP")), None)
    return first is not None and first.opname == "POP_TOP"
