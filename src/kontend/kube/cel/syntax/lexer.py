"""Tokens of an expression. What is no token is noted as the server's lexer would, and skipped."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kontend.kube.cel.issues import Issues

#: The order in which the server lists what it expected.
TOKEN_ORDER: Final = (
    "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/", "%", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER",
    "ESC_IDENTIFIER",
)  # fmt: skip

_ESCAPE: Final = r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
_STRING: Final = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""' rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"' rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
    r'|[rR]"""(?s:.)*?"""' r"|[rR]'''(?s:.)*?'''" r'|[rR]"[^"\n\r]*"' r"|[rR]'[^'\n\r]*'"
)  # fmt: skip
_TOKEN: Final = re.compile(
    rf"""(?P<skip>[\t \r\n\f]+|//[^\n]*)
    |(?P<BYTES>[bB](?:{_STRING}))
    |(?P<STRING>{_STRING})
    |(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<NUM_UINT>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])
    |(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<ESC_IDENTIFIER>`[A-Za-z0-9_./\ -]+`)
    |(?P<op>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])""",
    re.VERBOSE,
)
_KEYWORDS: Final = frozenset({"in", "true", "false", "null"})
# How far the lexer reads before it gives up on a text that begins like a token.
_DEAD_END: Final = re.compile(
    rf"""=|&|\||`[A-Za-z0-9_./\ -]*
    |"(?:{_ESCAPE}|[^\\"\n\r])*(?:\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{{0,3}}|U[0-9a-fA-F]{{0,7}})?)?
    |'(?:{_ESCAPE}|[^\\'\n\r])*(?:\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{{0,3}}|U[0-9a-fA-F]{{0,7}})?)?
    |""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """A token: its kind (an operator is its own kind), its text and where it begins."""

    kind: str
    text: str
    at: int

    @property
    def shown(self) -> str:
        """The text for a message."""
        return f"'{escape_space(self.text)}'"


def escape_space(text: str) -> str:
    """Return a text with line breaks and tabs made visible."""
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def tokenize(source: str, issues: Issues) -> list[Token]:
    """All tokens, closed by one of kind ``<EOF>``."""
    tokens: list[Token] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            dead = _DEAD_END.match(source, at)
            end = (dead.end() if dead else at) + 1
            issues.add(at, f"Syntax error: token recognition error at: '{source[at:end]}'")
            at = end
            continue
        kind = match.lastgroup or ""
        text = match[0]
        if kind == "op" or text in _KEYWORDS:
            kind = text
        if kind != "skip":
            tokens.append(Token(kind, text, at))
        at = match.end()
    tokens.append(Token("<EOF>", "<EOF>", len(source)))
    return tokens


_SIMPLE: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", '"': '"', "'": "'", "\\": "\\",
    "?": "?", "`": "`",
}  # fmt: skip


def unquote(text: str, *, as_bytes: bool = False) -> str | bytes:
    """Return the value of a string literal, or of a bytes literal without its ``b``."""
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    quotes = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    body = text[quotes:-quotes]
    if quotes == 3:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    if raw or "\\" not in body:
        return body.encode() if as_bytes else body
    out = bytearray()
    at = 0
    while at < len(body):
        char = body[at]
        if char != "\\":
            out += char.encode("utf-8", "surrogatepass")
            at += 1
            continue
        code = body[at + 1]
        if code in _SIMPLE:
            out += _SIMPLE[code].encode()
            at += 2
            continue
        width = {"x": 4, "X": 4, "u": 6, "U": 10}.get(code, 4)
        number = int(body[at + 2 : at + width], 16) if code in "xXuU" else int(body[at + 1 : at + 4], 8)
        at += width
        if as_bytes and code not in "uU":
            out.append(number & 0xFF)
        else:
            out += chr(number if number < 0x110000 else 0xFFFD).encode("utf-8", "surrogatepass")
    return bytes(out) if as_bytes else out.decode("utf-8", "surrogatepass")
