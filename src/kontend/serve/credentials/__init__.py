"""Credentials of the server and of its clients: tokens, users, certificates, signing keys, the kubeconfig."""
