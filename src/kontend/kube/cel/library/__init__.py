"""The functions of CEL: the standard library and the Kubernetes extensions."""
