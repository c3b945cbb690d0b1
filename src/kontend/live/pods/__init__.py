"""Pods that answer: exec, logs and port-forward of a controller, answered by scripts of the user."""
