"""``kontend live``, and ``kontend replay`` of its traces."""
