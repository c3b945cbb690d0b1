"""``kontend inspect``, ``replay`` and ``report``: commands on counterexamples in files."""
