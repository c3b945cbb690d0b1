"""Addresses of webhooks: the client configurations of webhook configurations and of custom resource definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.cluster.effects import WebhookCall


def webhook_call(config: Mapping[str, Any], timeout: int, body: bytes, key: bytes) -> WebhookCall:
    """Return a call to the webhook that a ``clientConfig`` describes."""
    bundle = str(config.get("caBundle") or "")
    service = config.get("service")
    if not service:
        return WebhookCall(str(config.get("url") or ""), "", bundle, timeout, body, key)
    port, path = service.get("port") or 443, str(service.get("path") or "")
    namespace, name = service["namespace"], service["name"]
    path = path if path.startswith("/") or not path else f"/{path}"
    url = f"https://{name}.{namespace}.svc:{port}{path}"
    return WebhookCall(url, f"{namespace}/{name}:{port}", bundle, timeout, body, key)
