"""Classification of Python writes."""

from __future__ import annotations

from audit.conftest import Auditor
from kontend.audit.site import Lock, PatchType, Target, Verb


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
    assert [(site.lock, site.resource.kind) for site in report.sites] == [
        (Lock.LOCKED, "widgets"),
        (Lock.UNLOCKED, "widgets"),
    ]


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
    assert [(site.content.targets[0], site.lock) for site in report.sites] == [
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


_OBJECT = """
class ApiObject:
    def __init__(self, api, name):
        self.api, self.name = api, name
    def merge_patch_status(self, patch):
        self.api.patch_namespaced_custom_object_status("g", "v", "n", self.plural, self.name, {"status": patch})
"""


def test_a_helper_is_inherited_through_files_that_write_nothing(audited: Auditor) -> None:
    report = audited(
        {
            "api_object.py": "import kubernetes\n" + _OBJECT,
            "cached_object.py": """
            from api_object import ApiObject
            class CachedObject(ApiObject):
                cache = {}
            """,
            "widget.py": """
            from cached_object import CachedObject
            class Widget(CachedObject):
                plural = "widgets"
                def fail(self, error):
                    self.merge_patch_status({"error": str(error)})
            """,
        }
    )
    assert [(site.route.via, site.content.fields) for site in report.sites if site.place.path == "widget.py"] == [
        ("merge_patch_status", ("status.error",))
    ]


def test_a_name_that_only_helpers_have_is_a_helper_on_anything(audited: Auditor) -> None:
    report = audited(
        {
            "client.py": """
            import kubernetes
            class Client:
                def patch_object_status(self, name, patch):
                    self.api.patch_namespaced_custom_object_status("g", "v", "n", "widgets", name, patch)
            """,
            "thing.py": """
            class Thing:
                def patch_status(self, patch):
                    self.client.patch_object_status(self.name, patch=patch)
            """,
            "main.py": """
            async def run(things):
                for thing in things:
                    await thing.patch_status({"status": {"phase": "Ready"}})
            """,
        }
    )
    assert [
        (site.place.path, site.route.via, site.content.fields)
        for site in report.sites
        if site.content.fields and site.route.via
    ] == [("main.py", "patch_status", ("status.phase",))]
    assert {site.place.path for site in report.sites} == {"client.py", "thing.py", "main.py"}


def test_each_program_reaches_its_own_copy_of_a_class(audited: Auditor) -> None:
    subclass = """
    from api_object import ApiObject
    class Widget(ApiObject):
        def done(self):
            self.merge_patch_status({"phase": "Done"})
    """
    report = audited(
        {
            f"{program}/{name}.py": source
            for program in ("one", "two")
            for name, source in (("api_object", "import kubernetes\n" + _OBJECT), ("widget", subclass))
        }
    )
    assert [(site.place.path, site.route.helper.path) for site in report.sites if site.route.via] == [
        ("one/widget.py", "one/api_object.py"),
        ("two/widget.py", "two/api_object.py"),
    ]


def test_a_status_computed_from_arguments_makes_a_helper(audited: Auditor) -> None:
    report = audited(
        {
            "a.py": """
            import pykube
            class Status(pykube.objects.NamespacedAPIObject):
                def set_state(self, service, state, spec):
                    patch = self.described(spec)
                    patch["state"] = state
                    self.patch({"status": {"services": {service: patch}}})
                def set_rotated(self, group, when):
                    at = {"timestamp": when.isoformat()}
                    self.patch({"status": {"rotation": {group: at}}})
                def touch(self):
                    self.patch({"status": {"touched": True}})
            def apply(status: Status, spec, now):
                status.set_state("a", "Applied", spec)
                status.set_rotated("b", now)
                status.touch()
            """
        }
    )
    assert [site.route.via for site in report.sites if site.place.function == "apply"] == ["set_state", "set_rotated"]


def test_a_url_that_is_built_for_the_status_subresource_is_a_status_write(audited: Auditor) -> None:
    report = audited(
        {
            "a.py": """
            from kubernetes import client
            async def send(api, resource, name, body):
                await api.patch(url=resource.get_url(name=name, subresource="status"), payload={"status": {"a": 1}})
                await api.patch(url=resource.get_url(name=name), payload={"spec": {"a": 1}})
            """
        }
    )
    assert [(site.place.line, site.resource.subresource) for site in report.sites] == [(4, "status")]


def test_only_a_test_operation_locks_a_json_patch(audited: Auditor) -> None:
    report = audited(
        {
            "a.py": """
            from kontend import json_patch
            async def f(api, widget, version):
                await api.status.patch(widget, json_patch([{"op": "add", "path": "/status/latest", "value": 1}]))
                tested = [{"op": "test", "path": "/metadata/resourceVersion", "value": version}]
                await api.status.patch(widget, json_patch(tested))
            """
        }
    )
    assert [site.lock for site in report.sites] == [Lock.UNLOCKED, Lock.LOCKED]
