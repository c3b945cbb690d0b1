"""``kontend serve`` and ``kontend envtest``: API servers from the command line."""
