"""Validation of the built-in kinds, with the texts and the order of kube-apiserver."""
