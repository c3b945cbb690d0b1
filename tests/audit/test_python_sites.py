"""Classification of Python writes."""

from __future__ import annotations

from kontend.audit.site import Lock, PatchType, Target, Verb

from .conftest import Auditor


def test_a_version_in_the_body_is_a_lock(audited: Auditor) -> None:
    report = audited(
        {
            "a.py": """
            import kubernetes
            api = kubernetes.client.CustomObjectsApi()
            def f(obj):
                body = {"metadata": {"resourceVersion": obj.rv}, "status": {"phase": "x"}}
                api.patch_namespaced_custom_object_status("g", "v", "n", "widgets", "x", body)
                api.patch_namespaced_custom_object_status("g", "v", "n", "widgets", "x", {"status": {"phase": "x"}})
            """
        }
    )
    assert [(site.lock, site.kind) for site in report.sites] == [(Lock.LOCKED, "widgets"), (Lock.UNLOCKED, "widgets")]


def test_the_content_type_decides_the_kind_of_patch(audited: Auditor) -> None:
    report = audited(
        {
            "a.py": """
            import kubernetes
            def f(api, core, args):
                api.patch_namespaced_custom_object("g", "v", "n", "p", "x", {"spec": {"a": 1}})
                core.patch_namespaced_pod("x", "n", {"spec": {"a": 1}})
                api.patch_namespaced_custom_object("g", "v", "n", "p", "x", [{"op": "add", "path": "/spec/a"}])
                api.patch_namespaced_custom_object(*args, body={}, _content_type="application/apply-patch+yaml")
            """
        }
    )
    kinds = [PatchType.MERGE, PatchType.STRATEGIC, PatchType.JSON, PatchType.APPLY]
    assert [site.patch_type for site in report.sites] == kinds
    assert report.sites[-1].verb is Verb.APPLY


def test_kopf_statements_and_return_values_are_writes(audited: Auditor) -> None:
    report = audited(
        {
            "a.py": """
            import kopf
            @kopf.on.create("widgets.example.com")
            def created(patch, **_):
                patch.status["phase"] = "Pending"
                patch.setdefault("metadata", {})["labels"] = {"a": "b"}
                patch.fns.append(print)
                return {"done": True}
            """
        }
    )
    assert [(site.targets[0], site.lock) for site in report.sites] == [
        (Target.STATUS, Lock.UNLOCKED),
        (Target.LABELS, Lock.UNLOCKED),
        (Target.STATUS, Lock.LOCKED),
        (Target.STATUS, Lock.UNLOCKED),
    ]


def test_a_helper_is_judged_where_its_body_is_made(audited: Auditor) -> None:
    report = audited(
        {
            "helper.py": """
            import kubernetes
            def send(api, name, body):
                api.patch_namespaced_custom_object_status("g", "v", "n", "widgets", name, body)
            """,
            "user.py": """
            from helper import send
            def f(api):
                obj = api.get_namespaced_custom_object("g", "v", "n", "widgets", "x")
                send(api, "x", {"status": obj["status"]})
            """,
        }
    )
    assert [(finding.path, finding.rule) for finding in report.findings] == [
        ("user.py", "status-read-modify-write-unguarded")
    ]
