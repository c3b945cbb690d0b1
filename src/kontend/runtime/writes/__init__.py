"""Safe writes: status, conditions, spec, finalizers, owner references, tracked children."""
