"""A cursor over the tokens of an expression, with ANTLR's recovery from syntax errors.

Errors follow ANTLR's strategy for single tokens: one that is too much is skipped ("extraneous input"), one that is
missing is made up ("missing ')'"), and anything else ends the parse ("mismatched input"), where ANTLR would go on but
seldom finds more to say.
"""

from __future__ import annotations

from typing import Final, NoReturn

from kontend.kube.cel.issues import Issues
from kontend.kube.cel.syntax.lexer import TOKEN_ORDER, Token, tokenize

START: Final = frozenset(
    {"[", "{", "(", ".", "-", "!", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES",
     "IDENTIFIER"}
)  # fmt: skip
AFTER_MEMBER: Final = frozenset(
    {"==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "}", ")", ".", ",", "-", "?", ":", "+", "*", "/",
     "%", "<EOF>"}
)  # fmt: skip


class Stop(Exception):
    """The rest cannot be parsed."""


def expecting(kinds: frozenset[str] | set[str]) -> str:
    """Return the tokens that were expected, as ANTLR lists them."""
    names = [kind if kind.isupper() or kind == "<EOF>" else f"'{kind}'" for kind in TOKEN_ORDER if kind in kinds]
    if kinds == {"<EOF>"}:
        return "<EOF>"
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


class Cursor:
    """The tokens of an expression, read one after the other."""

    def __init__(self, source: str, issues: Issues) -> None:
        self.source = source
        self.issues = issues
        self.tokens = tokenize(source, issues)
        self.index = 0

    @property
    def token(self) -> Token:
        """The current token."""
        return self.tokens[self.index]

    def ahead(self) -> str:
        """Return the kind of the token after the current one."""
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)].kind

    def next(self) -> Token:
        """Take the current token."""
        token = self.token
        if token.kind != "<EOF>":
            self.index += 1
        return token

    def error(self, message: str) -> None:
        """Add a syntax error at the current token."""
        self.issues.add(self.token.at, f"Syntax error: {message}")

    def stop(self, message: str) -> NoReturn:
        """Add a syntax error and end the parse."""
        self.error(message)
        raise Stop

    def want(self, kinds: frozenset[str] | set[str]) -> None:
        """Make sure that one of these tokens comes next, if need be by skipping one that should not be there."""
        if self.token.kind in kinds:
            return
        expected = expecting(kinds)
        if self.ahead() in kinds and self.token.kind != "<EOF>":
            self.error(f"extraneous input {self.token.shown} expecting {expected}")
            self.next()
            return
        self.stop(f"mismatched input {self.token.shown} expecting {expected}")

    def match(self, kind: str, follow: frozenset[str] = AFTER_MEMBER) -> None:
        """Take one token, or recovers as ANTLR does when it is another one."""
        if self.token.kind == kind:
            self.next()
        elif self.ahead() == kind and self.token.kind != "<EOF>":
            self.error(f"extraneous input {self.token.shown} expecting '{kind}'")
            self.next()
            self.next()
        elif self.token.kind in follow:
            self.error(f"missing '{kind}' at {self.token.shown}")
        else:
            self.stop(f"mismatched input {self.token.shown} expecting '{kind}'")
