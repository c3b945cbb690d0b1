"""The kubeconfig that points clients at this server."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import orjson


def kubeconfig(url: str, *, secrets: Mapping[str, str] | None = None, ca: bytes | None = None) -> str:
    """Return the text of a kubeconfig: one context for each user, the first one current.

    >>> print(kubeconfig("http://127.0.0.1:6443"))
    apiVersion: v1
    kind: Config
    current-context: kontend
    clusters:
    - name: kontend
      cluster:
        server: "http://127.0.0.1:6443"
    contexts:
    - name: kontend
      context: {cluster: kontend, user: "admin", namespace: default}
    users:
    - name: "admin"
      user: {}
    <BLANKLINE>
    """
    lines = ["apiVersion: v1", "kind: Config", "current-context: kontend", "clusters:", "- name: kontend", "  cluster:"]
    lines.append(f"    server: {_text(url)}")
    if ca is not None:
        lines.append(f"    certificate-authority-data: {base64.b64encode(ca).decode()}")
    # Over TLS kubectl asks for a name and a password unless the user has credentials; the server takes any.
    users = dict(secrets or {}) or {"admin": "" if ca is None else "unused"}
    lines.append("contexts:")
    for index, name in enumerate(users):
        lines.append(f"- name: {'kontend' if index == 0 else _text(f'kontend-{name}')}")
        lines.append(f"  context: {{cluster: kontend, user: {_text(name)}, namespace: default}}")
    lines.append("users:")
    for name, secret in users.items():
        lines.append(f"- name: {_text(name)}")
        lines.append(f"  user: {{token: {_text(secret)}}}" if secret else "  user: {}")
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    """JSON strings are YAML strings."""
    return orjson.dumps(value).decode()
