"""Python source to sites: the Kubernetes clients people use, kopf, and the bodies they send.

A Python write has no base object as in Go; what matters is the body: which fields it names, whether it carries a
resourceVersion, and whether the status in it was read from the server and is now sent back whole.
"""
