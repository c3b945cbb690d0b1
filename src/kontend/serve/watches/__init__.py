"""Open watches and their clients."""
