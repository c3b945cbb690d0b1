"""Config maps, secrets, service accounts, namespaces."""

from __future__ import annotations

from typing import Any

from kontend.kube.builtin import strategy_for
from kontend.kube.builtin.validation.config import MAX_SIZE

NAMESPACES = strategy_for("", "Namespace")


def messages(kind: str, obj: dict[str, Any]) -> list[str]:
    return [str(error) for error in strategy_for("", kind).validate(obj)]


def test_plain_texts_in_a_secret_become_data() -> None:
    secret = {"data": {"a": "eA=="}, "stringData": {"a": "hi", "b": ""}}
    strategy_for("", "Secret").convert(secret)

    assert secret == {"data": {"a": "aGk=", "b": ""}}


def test_a_secret_keeps_its_type() -> None:
    new: dict[str, Any] = {}
    strategy_for("", "Secret").prepare("", new, {"type": "kubernetes.io/tls"})

    assert new == {"type": "kubernetes.io/tls"}


def test_a_docker_configuration_must_be_json() -> None:
    secret = {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "WzFd"}}

    assert messages("Secret", secret) == [
        'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": '
        "json: cannot unmarshal array into Go value of type map[string]interface {}"
    ]


def test_config_maps_and_secrets_hold_a_mebibyte() -> None:
    assert messages("ConfigMap", {"data": {"a": "x" * (MAX_SIZE + 1)}}) == [
        "[]: Too long: may not be more than 1048576 bytes"
    ]
    assert messages("Secret", {"data": {"a": "AAAA" * (MAX_SIZE // 3 + 1)}}) == [
        "data: Too long: may not be more than 1048576 bytes"
    ]


def test_of_the_secrets_of_a_service_account_only_names_are_kept() -> None:
    account = {"secrets": [{"name": "a", "namespace": "b"}]}
    strategy_for("", "ServiceAccount").prepare_for_create(account)

    assert account == {"secrets": [{"name": "a"}]}


def test_a_new_namespace_is_active_and_waits_for_its_controller() -> None:
    namespace: dict[str, Any] = {"metadata": {"name": "n"}, "spec": {"finalizers": ["a.io/b"]}}
    NAMESPACES.prepare_for_create(namespace)
    NAMESPACES.canonicalize(namespace)

    assert namespace == {
        "metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}},
        "spec": {"finalizers": ["a.io/b", "kubernetes"]},
        "status": {"phase": "Active"},
    }


def test_only_finalize_changes_the_finalizers_of_a_namespace() -> None:
    old: dict[str, Any] = {"metadata": {}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating"}}
    plain: dict[str, Any] = {"metadata": {}, "spec": {}}
    finalized: dict[str, Any] = {"metadata": {}, "spec": {}}
    NAMESPACES.prepare("", plain, old)
    NAMESPACES.prepare("finalize", finalized, old)

    assert plain["spec"] == {"finalizers": ["kubernetes"]}
    assert finalized == {"metadata": {}, "spec": {}, "status": {"phase": "Terminating"}}


def test_a_namespace_is_terminating_when_it_is_being_deleted() -> None:
    new: dict[str, Any] = {"metadata": {}, "status": {"phase": "Terminating"}}

    assert [str(error) for error in NAMESPACES.validate_changes("status", new, {})] == [
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    ]
