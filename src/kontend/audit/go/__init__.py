"""Go source, read with tree-sitter: packages, types, bases of patches, and the write sites built from them.

`syntax` is the only module that knows tree-sitter; it is imported when the first Go file is met, so that auditing
Python code, or importing kontend, needs no parser.
"""
