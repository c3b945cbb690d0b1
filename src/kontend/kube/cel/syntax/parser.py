"""From text to a syntax tree, with the server's syntax errors.

A recursive descent over CEL's grammar, on a :class:`~kontend.kube.cel.syntax.cursor.Cursor`.
"""

from __future__ import annotations

from typing import Final

from kontend.kube.cel.issues import Issues
from kontend.kube.cel.syntax import macros
from kontend.kube.cel.syntax.ast import (
    Call,
    Entry,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Message,
    Node,
    Select,
    qualified_name,
)
from kontend.kube.cel.syntax.cursor import START, Cursor, Stop, expecting
from kontend.kube.cel.syntax.lexer import Token, escape_space, unquote
from kontend.kube.cel.types import BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT
from kontend.kube.cel.values import UInt
from kontend.kube.golang.strconv import whole_number

_RESERVED: Final = frozenset(
    {"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
     "package", "namespace", "null", "return", "true", "var", "void", "while"}
)  # fmt: skip
_RELATIONS: Final = frozenset({"<", "<=", ">=", ">", "==", "!=", "in"})
_CALC: Final = ({"+", "-"}, {"*", "/", "%"})
#: The server's limits: how deep the grammar recurses, how high the tree grows, how long the text is.
_DEEPEST: Final = 250
_LONGEST: Final = 100_000


def parse(source: str, *, bindings: bool = False) -> Node:
    """Return the tree of an expression; raises a ``CompileError`` with all mistakes."""
    issues = Issues(source)
    if len(source) > _LONGEST:
        issues.add_limit(f"expression code point size exceeds limit: size: {len(source)}, limit {_LONGEST}")
        issues.raise_any()
    parser = _Parser(source, issues, bindings=bindings)
    tree: Node | None = None
    try:
        tree = parser.start()
    except Stop:
        pass
    except RecursionError:
        issues.add_limit(f"expression recursion limit exceeded: {_DEEPEST}")
    issues.raise_any()
    assert tree is not None
    return tree


class _Parser(Cursor):
    def __init__(self, source: str, issues: Issues, *, bindings: bool = False) -> None:
        super().__init__(source, issues)
        self.bindings = bindings
        self.depth = 0
        #: The height of the expression that was read last: operators, selections, calls of methods and indices count.
        self.height = 0

    def _grow(self, *heights: int) -> int:
        """Return the height of an operator above its operands."""
        height = 1 + max(heights)
        if height > _DEEPEST:
            self.issues.add_limit("max recursion depth exceeded")
            raise Stop
        return height

    # Grammar, from the outside in.

    def start(self) -> Node:
        tree = self._expr()
        self.want({"<EOF>"})
        return tree

    def _expr(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.issues.add_limit(f"expression recursion limit exceeded: {_DEEPEST}")
            raise Stop
        condition = self._logic("||")
        if self.token.kind == "?":
            at, height = self.next().at, self.height
            yes = self._logic("||")
            height = max(height, self.height)
            self.match(":", START)
            condition = Call("_?_:_", [condition, yes, self._expr()], at=at)
            self.height = self._grow(height, self.height)
        self.depth -= 1
        return condition

    def _logic(self, operator: str) -> Node:
        first = self._logic("&&") if operator == "||" else self._relation()
        terms, height = [first], self.height
        at = self.token.at
        while self.token.kind == operator:
            self.next()
            terms.append(self._logic("&&") if operator == "||" else self._relation())
            height = max(height, self.height)
        self.height = height
        return Call(f"_{operator}_", terms, at=at) if len(terms) > 1 else first

    def _relation(self) -> Node:
        left = self._calc(0)
        while self.token.kind in _RELATIONS:
            operator = self.next()
            name, height = "@in" if operator.kind == "in" else f"_{operator.kind}_", self.height
            left = Call(name, [left, self._calc(0)], at=operator.at)
            self.height = self._grow(height, self.height)
        return left

    def _calc(self, level: int) -> Node:
        if level == 2:
            return self._unary()
        left = self._calc(level + 1)
        while self.token.kind in _CALC[level]:
            operator, height = self.next(), self.height
            left = Call(f"_{operator.kind}_", [left, self._calc(level + 1)], at=operator.at)
            self.height = self._grow(height, self.height)
        return left

    def _unary(self) -> Node:
        self.want(START)
        token = self.token
        if token.kind not in ("!", "-"):
            return self._member()
        if token.kind == "-" and self.ahead() in ("NUM_INT", "NUM_FLOAT"):
            return self._member()
        count = 0
        while self.token.kind == token.kind:
            self.next()
            count += 1
        if self.token.kind not in START:
            if token.kind == "-":
                self.error(f"no viable alternative at input '{self._text_from(token)}'")
                self.stop(f"mismatched input {self.token.shown} expecting {expecting(START)}")
            self.stop(f"extraneous input {self.token.shown} expecting {expecting(START)}")
        # Signs of the other kind cannot follow, except the minus of a number.
        if token.kind == "-" and self.token.kind == "!":
            self.stop(f"no viable alternative at input '{self._text_from(token)}'")
        if self.token.kind == "-" and self.ahead() not in ("NUM_INT", "NUM_FLOAT"):
            minus = self.next()
            self.error(f"no viable alternative at input '{self._text_from(minus)}'")
            if self.token.kind in START:
                raise Stop
            self.stop(f"mismatched input {self.token.shown} expecting {expecting(START)}")
        inner = self._member()
        return Call("!_" if token.kind == "!" else "-_", [inner], at=token.at) if count % 2 else inner

    def _text_from(self, first: Token) -> str:
        """Return the tokens from one to the current one, with the white space between them."""
        out, end = "", first.at
        for token in self.tokens[self.tokens.index(first) : self.index + 1]:
            gap = self.source[end : token.at]
            text = "" if token.kind == "<EOF>" else token.text
            out += (gap if text and gap.isspace() else "") + text
            end = token.at + len(text)
        return escape_space(out)

    def _member(self) -> Node:
        self.height = 0
        node = self._primary()
        while True:
            token, height = self.token, self.height
            if token.kind == ".":
                self.height = 0
                node = self._dot(node)
                self.height = self._grow(height, self.height)
            elif token.kind == "[":
                self.next()
                optional = self.token.kind == "?"
                if optional:
                    self.next()
                else:
                    self.want(START | {"?"})
                    optional = self.token.kind == "?"
                    if optional:
                        self.next()
                index = self._expr()
                self.height = self._grow(height, self.height)
                self.match("]")
                node = Call("_[?_]" if optional else "_[_]", [node, index], at=token.at)
            elif token.kind == "{" and (name := qualified_name(node)):
                node = self._message(name)
            else:
                return node

    def _dot(self, operand: Node) -> Node:
        dot = self.next()
        optional = self.token.kind == "?"
        if optional:
            self.next()
        name = self.token
        if name.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
            if name.kind in ("true", "false", "null") and name.at == dot.at + 1:
                self.stop(f"mismatched input {name.shown} expecting IDENTIFIER")
            self.stop(f"no viable alternative at input '{self._text_from(dot)}'")
        self.next()
        field = name.text
        if name.kind == "ESC_IDENTIFIER":
            self.issues.add(name.at, "unsupported syntax: '`'")
            field = field[1:-1]
        if optional:
            return Call("_?._", [operand, Literal(value=field, type=STRING, at=name.at)], at=dot.at)
        if self.token.kind == "(" and name.kind == "IDENTIFIER":
            at = self.next().at
            args = self._arguments()
            if self.bindings and field == "bind" and isinstance(operand, Ident) and operand.name == "cel":
                return macros.bind(operand, args, at, self.issues)
            return macros.method(field, operand, args, at, self.issues)
        return Select(operand, field, at=dot.at)

    def _arguments(self) -> list[Node]:
        self.want(START | {")"})
        args: list[Node] = []
        if self.token.kind != ")":
            args.append(self._expr())
            height = self.height
            while self.token.kind == ",":
                self.next()
                args.append(self._expr())
                height = max(height, self.height)
            self.height = height
        self.match(")")
        return args

    def _primary(self) -> Node:
        self.want(START)
        token = self.token
        if token.kind == "(":
            self.next()
            inner = self._expr()
            self.match(")")
            return inner
        if token.kind == "[":
            return self._list()
        if token.kind == "{":
            return self._map()
        if token.kind in (".", "IDENTIFIER"):
            return self._name()
        return self._literal()

    def _name(self) -> Node:
        first = self.token
        leading = ""
        if first.kind == ".":
            self.next()
            leading = "."
            if self.token.kind != "IDENTIFIER":
                self.stop(f"no viable alternative at input '{self._text_from(first)}'")
        token = self.next()
        name = leading + token.text
        if self.token.kind == "(":
            at = self.next().at
            args = self._arguments()
            if token.text in _RESERVED:
                self.issues.add(first.at, f"reserved identifier: {token.text}")
            return macros.function(name, args, at, self.issues)
        if token.text in _RESERVED:
            self.issues.add(first.at, f"reserved identifier: {token.text}")
        return Ident(name=name, at=token.at)

    def _list(self) -> Node:
        at = self.next().at
        self.want(START | {"]", ",", "?"})
        elements: list[Node] = []
        optional: set[int] = set()
        height = 0
        if self.token.kind not in ("]", ","):
            while True:
                if self.token.kind == "?":
                    self.next()
                    optional.add(len(elements))
                elements.append(self._expr())
                height = max(height, self.height)
                if self.token.kind != "," or self.ahead() not in START | {"?"}:
                    break
                self.next()
        self.height = height
        self._close("]")
        return ListLiteral(elements, frozenset(optional), at=at)

    def _close(self, kind: str) -> None:
        """The end of a list or a map: an optional comma and a bracket."""
        self.want({kind, ","})
        if self.token.kind == ",":
            self.next()
        self.match(kind)

    def _map(self) -> Node:
        at = self.next().at
        self.want(START | {"}", ",", "?"})
        entries: list[Entry] = []
        height = 0
        if self.token.kind not in ("}", ","):
            while True:
                optional = self.token.kind == "?"
                if optional:
                    self.next()
                key = self._expr()
                height = max(height, self.height)
                colon = self.token.at
                self.match(":", START)
                entries.append(Entry(colon, key, self._expr(), optional))
                height = max(height, self.height)
                if self.token.kind != "," or self.ahead() not in START | {"?"}:
                    break
                self.next()
        self.height = height
        self._close("}")
        return MapLiteral(entries, at=at)

    def _message(self, name: str) -> Node:
        at = self.next().at
        entries: list[Entry] = []
        self.want({"}", ",", "?", "IDENTIFIER", "ESC_IDENTIFIER"})
        if self.token.kind not in ("}", ","):
            while True:
                optional = self.token.kind == "?"
                if optional:
                    self.next()
                self.want({"IDENTIFIER", "ESC_IDENTIFIER"})
                field = self.next().text.strip("`")
                colon = self.token.at
                self.match(":", START)
                entries.append(Entry(colon, field, self._expr(), optional))
                if self.token.kind != "," or self.ahead() not in ("IDENTIFIER", "ESC_IDENTIFIER", "?"):
                    break
                self.next()
        self._close("}")
        return Message(name, entries, at=at)

    def _literal(self) -> Node:
        first = self.next()
        at, text, kind = first.at, first.text, first.kind
        sign = ""
        if kind == "-":
            sign = "-"
            token = self.next()
            text, kind = token.text, token.kind
        if kind == "true" or kind == "false":
            return Literal(value=kind == "true", type=BOOL, at=at)
        if kind == "null":
            return Literal(value=None, type=NULL, at=at)
        if kind == "STRING":
            return Literal(value=unquote(text), type=STRING, at=at)
        if kind == "BYTES":
            return Literal(value=unquote(text[1:], as_bytes=True), type=BYTES, at=at)
        if kind == "NUM_FLOAT":
            number = float(sign + text)
            if number in (float("inf"), float("-inf")):
                self.issues.add(at, "invalid double literal")
            return Literal(value=number, type=DOUBLE, at=at)
        digits = text.rstrip("uU") if kind == "NUM_UINT" else text
        if digits.startswith("0x"):
            value = int(sign + digits, 16)
        else:
            value = whole_number(sign + digits)
        if kind == "NUM_UINT":
            if value >= 2**64:
                self.issues.add(at, "invalid uint literal")
            return Literal(value=UInt(value), type=UINT, at=at)
        if not -(2**63) <= value < 2**63:
            self.issues.add(at, "invalid int literal")
        return Literal(value=value, type=INT, at=at)
