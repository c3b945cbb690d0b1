"""API machinery as pure functions on JSON: names, errors, selectors, patches, apply, schemas, quantities.

Nothing here holds state, reads a clock or does I/O. Objects are plain dicts, as ``json.loads`` makes them.
"""
