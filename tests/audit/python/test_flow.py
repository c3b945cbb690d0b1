"""Retries and errors around Python writes."""

from __future__ import annotations

import pytest

from audit.conftest import Auditor
from kontend.audit.site import ErrorUse

_LOOP = """
from kubernetes import client
from kubernetes.client.exceptions import ApiException
api = client.CustomObjectsApi()
def save(name, widget, cache):
    {before}
    for _ in range(5):
        try:
            {read}
            widget["status"]["phase"] = "Ready"
            api.replace_namespaced_custom_object_status("g", "v1", "ns", "widgets", name, widget)
            return
        except ApiException as error:
            if error.status != 409:
                raise
"""
_GET = 'widget = api.get_namespaced_custom_object("g", "v1", "ns", "widgets", name)'


@pytest.mark.parametrize(
    ("before", "read", "stale"),
    [
        ("pass", _GET, 0),
        (_GET, "pass", 1),
        (_GET, 'phase = cache.get("phase")', 1),  # a dictionary is read, and not the server
        (_GET, 'phase = cache.get("phase", None)', 1),
        (_GET, "widget = reload(name)", 0),
        ("pass", "widget.refresh()", 0),
    ],
)
def test_a_retry_must_read_from_the_server_again(audited: Auditor, before: str, read: str, stale: int) -> None:
    report = audited({"a.py": _LOOP.format(before=before, read=read)})
    assert [finding.rule for finding in report.findings].count("conflict-retry-stale-object") == stale


def test_a_write_without_a_body_reads_in_its_own_loop(audited: Auditor) -> None:
    """pykube's `obj.update()` has no body, so there is nothing that could be stale but the object itself."""
    report = audited(
        {
            "a.py": """
            import pykube
            def save(obj):
                while True:
                    try:
                        obj.update(subresource="status")
                        return
                    except Conflict:
                        continue
            """
        }
    )
    (site,) = report.sites
    assert site.retry is not None
    assert site.retry.rereads


@pytest.mark.parametrize(
    ("handler", "use"),
    [
        ("except NotFoundError:\n        pass", ErrorUse.RETURNED),
        ("except Exception:\n        pass", ErrorUse.DROPPED),
        ("except:\n        pass", ErrorUse.DROPPED),
        ("except (KeyError, ApiException):\n        pass", ErrorUse.DROPPED),
        ("except ApiException:\n        logger.error('x')", ErrorUse.LOGGED),
        ("except ApiException:\n        raise", ErrorUse.RETURNED),
    ],
)
def test_only_a_handler_that_catches_conflicts_drops_them(audited: Auditor, handler: str, use: ErrorUse) -> None:
    source = """from kubernetes import client
api = client.CustomObjectsApi()
def f(name):
    try:
        api.patch_namespaced_custom_object_status("g", "v1", "ns", "widgets", name, {"status": {"phase": "a"}})
    HANDLER
""".replace("HANDLER", handler)
    (site,) = audited({"a.py": source}).sites
    assert site.error is use
