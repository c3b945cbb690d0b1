"""``kontend explore``: the command, its targets, and the modes of its run."""
