"""Names, addresses and uids that a run has made up are replaced by what they stand for, wherever they appear."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from kontend import Cluster
from kontend.cluster.state import State
from kontend.explore.properties.overwrites import path_text
from kontend.live.gate.perturbation import TOUCHED
from kontend.live.properties.final_state import differences
from kontend.live.properties.learning import learn
from kontend.live.properties.masking import FIRST_VERSION, comparable


def config_map(name: str, **data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def made(initial: State, *, extra: int, order: Sequence[str]) -> State:
    """A pod with a generated name and what derives from its name, its address and its uid."""
    cluster = Cluster(state=initial)
    for number in range(extra):  # so that the next uids and names are others
        cluster.create(config_map(f"gone-{number}"))
        cluster.delete("ConfigMap/v1", f"gone-{number}")
    pods = {}
    for number, app in enumerate(order):
        meta = {"generateName": f"{app}-", "labels": {"app": app}}
        containers = [{"name": "c", "image": "i"}]
        pod = cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers}})
        name = pod["metadata"]["name"]
        address = f"10.244.{extra}.{number + 1}"
        cluster.patch("Pod/v1", name, {"status": {"podIP": address}}, subresource="status")
        pods[app] = name, address, pod["metadata"]["uid"]
    for name, address, uid in pods.values():
        cluster.create(config_map(f"{name}-config", text=f"{name} at {address}:8080", short=f"id-{uid[:8]}"))
    cluster.create(config_map("leader", address=pods["a"][1]))
    return cluster.state


def test_names_and_texts_that_derive_from_made_up_ones_are_equal_from_run_to_run() -> None:
    initial = Cluster().state
    one, other = made(initial, extra=0, order="ab"), made(initial, extra=3, order="ba")
    assert differences(comparable(initial, other), comparable(initial, one)) == []


def test_the_address_of_the_wrong_pod_differs() -> None:
    initial = Cluster().state
    one, other = made(initial, extra=0, order="ab"), Cluster(state=made(initial, extra=3, order="ba"))
    wrong = next(pod for pod in other.list("Pod/v1") if pod["metadata"]["labels"] == {"app": "b"})
    other.patch("ConfigMap/v1", "leader", {"data": {"address": wrong["status"]["podIP"]}})
    found = differences(comparable(initial, other.state), comparable(initial, one))
    assert [(each.place.title, path_text(each.place.path)) for each in found] == [
        ("configmaps default/leader", ".data.address")
    ]


def test_a_made_up_field_of_list_elements_is_masked_and_their_other_fields_are_compared() -> None:
    initial = Cluster().state

    def pod(token: str, image: str) -> State:
        container = {"name": "c", "image": image, "env": [{"name": "TOKEN", "value": token}]}
        cluster = Cluster(state=initial)
        cluster.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
        )
        return cluster.state

    mask = learn(initial, [pod("x7f3kq", "i"), pod("b42mzz", "i")])
    found = differences(comparable(initial, pod("q11qqq", "j"), mask), comparable(initial, pod("x1x1x1", "i"), mask))
    assert [path_text(each.place.path) for each in found] == [".spec.containers[name=c].image"]


def test_numbered_names_are_not_taken_for_made_up_ones() -> None:
    """Each run has lost another replica: a mask for all of them would hide it."""
    initial = Cluster().state
    finals = []
    for lost in (0, 2):
        cluster = Cluster(state=initial)
        for number in range(3):
            if number != lost:
                cluster.create(config_map(f"db-{number}"))
        finals.append(cluster.state)
    mask = learn(initial, finals)
    assert mask.prefixes == frozenset()
    found = differences(comparable(initial, finals[1], mask), comparable(initial, finals[0], mask))
    assert [str(each.place) for each in found] == ["configmaps default/db-0", "configmaps default/db-2"]


def test_an_object_of_the_start_that_was_touched_and_is_the_same_is_no_difference() -> None:
    """Another writer has touched it for a conflict, or it was changed and changed back."""
    start = Cluster()
    start.create(config_map("given", mode="calm"))
    touched, changed = Cluster(state=start.state), Cluster(state=start.state)
    touched.patch("ConfigMap/v1", "given", {"metadata": {"annotations": {TOUCHED: "7"}}}, manager="another")
    changed.patch("ConfigMap/v1", "given", {"data": {"mode": "loud"}})
    one, other, same = (comparable(start.state, each) for each in (touched.state, changed.state, start.state))
    assert differences(one, same) == differences(same, one) == []
    assert [str(each) for each in differences(same, other)] == [
        'configmaps default/given .data.mode: "calm" instead of "loud"'
    ]


def test_certificates_and_keys_are_equal_from_run_to_run_also_in_secrets() -> None:
    initial = Cluster().state

    def kept(letter: str, kind: str = "CERTIFICATE") -> State:
        cluster = Cluster(state=initial)
        pem = f"-----BEGIN {kind}-----\n{letter * 90}\n-----END {kind}-----\n"
        data = {"tls.crt": b64encode(pem.encode()).decode()}
        cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": data})
        cluster.create(config_map("c", text=pem))
        return cluster.state

    assert differences(comparable(initial, kept("A")), comparable(initial, kept("B"))) == []
    assert len(differences(comparable(initial, kept("A")), comparable(initial, kept("A", "PRIVATE KEY")))) == 2


def test_versions_are_equal_from_run_to_run_wherever_they_are_copied() -> None:
    """A run with one write more has other versions in the labels that say from which version a child was made."""
    initial = Cluster().state.replace(resource_version=FIRST_VERSION)

    def owned(*, extra: int, port: str = "8080") -> State:
        cluster = Cluster(state=initial)
        for number in range(extra):
            cluster.create(config_map(f"gone-{number}"))
            cluster.delete("ConfigMap/v1", f"gone-{number}")
        version = cluster.create(config_map("owner"))["metadata"]["resourceVersion"]
        cluster.create(config_map("child", label=version, text=f"made from {version}", port=port))
        return cluster.state

    assert differences(comparable(initial, owned(extra=0)), comparable(initial, owned(extra=2))) == []
    assert len(differences(comparable(initial, owned(extra=0)), comparable(initial, owned(extra=0, port="80")))) == 1


def test_a_label_that_is_only_a_version_may_be_missing() -> None:
    """It says in which reconcile an object was written. A template's annotation makes pods restart, and counts."""
    initial = Cluster().state.replace(resource_version=FIRST_VERSION)
    finals = []
    for labelled in (True, False):
        cluster = Cluster(state=initial)
        version = cluster.create(config_map("owner"))["metadata"]["resourceVersion"]
        labels = {"app": "a", **({"owner-rv": version} if labelled else {})}
        cluster.create({**config_map("child"), "metadata": {"name": "child", "labels": labels}})
        finals.append(comparable(initial, cluster.state))
        cluster.create({**config_map("other", text=version if labelled else "")})
        finals.append(comparable(initial, cluster.state))
    assert finals[0] == finals[2]
    assert finals[1] != finals[3]
