"""The syntax of CEL: lexer, parser, macros and syntax tree."""
