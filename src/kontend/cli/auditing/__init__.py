"""``kontend audit`` and ``kontend rule``: the auditor, and the explorer that confirms its findings."""
