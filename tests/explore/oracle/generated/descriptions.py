"""Descriptions of scenarios: JSON from which a scenario is made, which can be made smaller and written to a file."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from definitions import definition
from explore.oracle.generated.objects import CM, Json, W, blank
from explore.oracle.generated.programs import Program
from explore.oracle.generated.questions import CONDITIONS, MAPPERS, PROPERTIES, size_of
from kontend.controllers.garbage_collector import GarbageCollector
from kontend.explore import Bounds, Scenario, Writer, always, create, delete, eventually, never, patch, sometimes
from kontend.explore.actions import Action
from kontend.runtime.controller import Controller
from kontend.runtime.guards import Guards
from kontend.runtime.predicates import AnnotationChanged, GenerationChanged, LabelChanged, Predicate

#: The bounds on faults.
FAULTS: Final = ("faults", "crashes", "rewind", "failed", "lost", "handovers")
PREDICATES: Final[Mapping[str, Predicate]] = {
    "generation": GenerationChanged(),
    "label": LabelChanged(),
    "generation or label": GenerationChanged() | LabelChanged(),
    "not annotation": ~AnnotationChanged(),
}


def _crd(form: Sequence[str]) -> dict[str, Any]:
    crd = definition("Widget")
    version = crd["spec"]["versions"][0]
    if "no status" in form:
        del version["subresources"]
    if "scale" in form:
        scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.n"}
        version.setdefault("subresources", {})["scale"] = scale
    if "versions" in form:
        crd["spec"]["versions"].append({**copy.deepcopy(version), "name": "v2", "storage": False})
    return crd


def _object(kind: str, namespace: str, name: str, fields: Mapping[str, Any] | None = None) -> dict[str, Any]:
    obj = blank(kind, namespace, name)
    if fields:
        obj["metadata"].update(copy.deepcopy(dict(fields)))
    if kind == CM and name == "a":
        obj["data"] = {"v": "0"}
    return obj


def _policy(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A policy and its binding: writes are refused unless the config map ``a`` has a certain value."""
    group = "" if described["resources"] == "configmaps" else "example.com"
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": described["operations"]}
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "governed"},
        "spec": {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": {"resourceRules": [{**rule, "resources": [described["resources"]]}]},
            "matchConditions": [{"name": "others", "expression": "request.name != 'a'"}],
            "validations": [{"expression": f"params.data.v == '{described['allowed']}'"}],
        },
    }
    parameters = {"name": "a", "namespace": "default", "parameterNotFoundAction": described["missing"]}
    spec = {"policyName": "governed", "validationActions": ["Deny"], "paramRef": parameters}
    return [policy, {**policy, "kind": "ValidatingAdmissionPolicyBinding", "spec": spec}]


def _guards(name: str) -> Guards:
    on = name == "on"
    return Guards(
        read_your_writes=on or name == "reads",
        delete_preconditions=on or name == "deletes",
        locked_status=on or name == "status",
        monotonic_views=on,
        fencing=False,
    )


def _action(verb: str, where: Json, *rest: Json) -> Action:
    """An action: its verb, its object, the change if it is a patch, and options."""
    obj = _object(*where)
    change, options = (rest[:1], rest[1:]) if verb == "patch" else ((), rest)
    named = dict(options[0]) if options else {}
    if "when" in named:
        named["when"] = CONDITIONS[named["when"]]
    make: Mapping[str, Callable[..., Action]] = {"create": create, "delete": delete, "patch": patch}
    return make[verb](obj, *change, **named)


def scenario_of(described: Mapping[str, Any]) -> Scenario:
    """The scenario that a description stands for."""
    controllers: list[Controller | str] = []
    for controller in described["controllers"]:
        attributes = {
            "name": controller["name"],
            "kind": controller["kind"],
            "owns": tuple(controller["owns"]),
            "watches": {kind: MAPPERS[name] for kind, name in controller["watches"].items()},
            "predicates": {kind: PREDICATES[name] for kind, name in controller["predicates"].items()},
            "indexes": {controller["kind"]: {"size": size_of}} if controller.get("index") else {},
            "code": controller["code"],
        }
        if "max_concurrent" in controller:
            attributes["max_concurrent"] = controller["max_concurrent"]
        if "max_concurrent" in controller or "forgets" in controller:
            attributes["memory"] = ()
        controllers.append(type("Program" + controller["name"], (Program,), attributes)())
    if described["collector"] == "some kinds":
        controllers.append(GarbageCollector(only=(W, CM)))
    elif described["collector"]:
        controllers.append(described["collector"])
    modes = {"always": always, "never": never, "eventually": eventually, "sometimes": sometimes}
    return Scenario(
        controllers,
        crds=[_crd(described["crd"])],
        objects=[
            *(_object(*stored) for stored in described["objects"]),
            *(_policy(described["policy"]) if described.get("policy") else ()),
        ],
        actions=[_action(*action) for action in described["actions"]],
        writers=[
            Writer(writer["name"], [_action(*action) for action in writer["actions"]], writer["ordered"])
            for writer in described.get("writers", ())
        ],
        properties=[modes[mode](PROPERTIES[name], name=f"{mode} {name}") for mode, name in described["properties"]],
        bounds=Bounds(
            **{name: described.get("faults", {}).get(name, 0) for name in FAULTS},
            lag=described["lag"],
            concurrent=described["concurrent"],
            instances=described.get("instances", {}),
            atomic=described["atomic"],
        ),
        guards=_guards(described["guards"]),
        processes=_processes(described),
    )


def _processes(described: Mapping[str, Any]) -> dict[str, list[str]]:
    """One process for all programs, where the description says so; else one for each."""
    if described.get("processes") == "together":
        return {}
    return {controller["name"]: [controller["name"]] for controller in described["controllers"]}


def weight(described: Mapping[str, Any]) -> float:
    """A guess at the number of states: lengths of the programs multiplied, for all that can overlap."""
    found = 1.0 + len(described["actions"])
    for writer in described.get("writers", ()):
        found *= 1 + len(writer["actions"])
    for controller in described["controllers"]:
        calls = 1 if described["atomic"] else 1 + _calls(controller["code"])
        at_once = max(
            described["concurrent"],
            described.get("instances", {}).get(controller["name"], 1),
            controller.get("max_concurrent", 1),
        )
        found *= (calls * (1 + described["lag"]) ** 0.7) ** at_once
    faults = described.get("faults") or {"faults": 0}
    found *= float((1 + sum(faults.values()) / 2) ** faults["faults"])
    return found * (3 if described["collector"] else 1)


def _calls(code: Sequence[Json]) -> int:
    """The largest number of calls that a program makes."""
    count = 0
    for name, *arguments in code:
        if name in ("when", "unless"):
            count += _calls(arguments[2])
        elif name in ("gather", "group"):
            count += _calls(arguments) + 1
        elif name in ("soft", "wait_for", "within"):
            count += _calls(arguments[-1:])
        elif name == "caught":
            count += _calls([arguments[0], *arguments[2]])
        elif not name.startswith(("stop", "keep", "first", "sleep", "requeue", "fail")):
            count += 1
    return count


def possible(objects: list[Json], actions: list[Json]) -> list[Json]:
    """The actions that the server would accept one after the other."""
    there = [obj[:3] for obj in objects]
    taken = []
    for action in actions:
        verb, where = action[:2]
        if (where in there) == (verb == "create"):
            continue
        if verb == "create":
            there.append(where)
        elif verb == "delete":
            there.remove(where)
        taken.append(action)
    return taken
