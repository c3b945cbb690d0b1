"""Warning headers, cut to the length that kube-apiserver cuts them to.

When all texts together have more than 4,096 characters, each is cut to 256, and when they still have more, the rest is
left out. Many clients stop at 100 headers, where kube-apiserver may send more: beyond a number of them the warnings
share the last header, separated by commas, as HTTP allows.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

_TOTAL: Final = 4096
_EACH: Final = 256
_HEADERS: Final = 50


def warning_headers(texts: Iterable[str]) -> list[str]:
    """Return the lines of the headers.

    >>> warning_headers(['unknown field "spec.x"'])
    ['Warning: 299 - "unknown field \\\\"spec.x\\\\""\\r\\n']
    """
    values = [f"299 - {_quoted(text)}" for text in _truncated(dict.fromkeys(texts)) if not _has_control(text)]
    if len(values) > _HEADERS:
        values[_HEADERS - 1 :] = [", ".join(values[_HEADERS - 1 :])]
    return [f"Warning: {value}\r\n" for value in values]


def _truncated(texts: Iterable[str]) -> list[str]:
    whole: list[str] = []
    cut: list[str] = []
    written = written_cut = 0
    for text in texts:
        if not text:
            continue
        if written + len(text) <= _TOTAL:
            whole.append(text)
            written += len(text)
        elif written <= _TOTAL:
            written = _TOTAL + 1  # from here on all of them are cut
        # The text that is one too many is still written.
        if written_cut >= _TOTAL and written > _TOTAL:
            break
        cut.append(text[:_EACH])
        written_cut += len(cut[-1])
    return cut if written > _TOTAL else whole


def _has_control(text: str) -> bool:
    return not text.isprintable() and any(unicodedata.category(char) == "Cc" for char in text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
