"""Server-side printing: the Table of `kubectl get`, its columns and cells."""
