"""What is looked at before a search: everything in a scenario that could only go wrong later.

Each mistake is a :class:`BadScenario` with the line on which it was made. What depends on the server is asked of the
server itself: the objects are stored, the properties are asked about the first cluster, the actions are tried on a copy
of it. An action on an object that is not there (yet) is not a mistake that can be seen here, for a controller may make
the object; the search knows when it has tried in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import UnknownKind, empty_state, resource_of, seed, seed_order
from kontend.explore.place import Place, defined_at
from kontend.explore.scenario import (
    BUILT_IN,
    Action,
    BadScenario,
    Bounds,
    Property,
    Reductions,
    Scenario,
    holds,
    never_taken,
    not_among,
)
from kontend.kube.errors import (
    ApiError,
    BadRequest,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    RequestEntityTooLarge,
    Unauthorized,
    UnsupportedMediaType,
)
from kontend.kube.meta.names import BadName, key_of, kind_of, parse_kind
from kontend.runtime.controller import BadController, Controller
from kontend.runtime.controller import check as check_controller
from kontend.runtime.guards import Guards

#: The built-in controllers are beside this layer, not below: found by name, as commands are, and only when asked for.
_LIBRARY: Final = ("kontend.controllers", "by_name")
_DEFINITIONS: Final = "CustomResourceDefinition.apiextensions.k8s.io/v1"
_USER: Final = "user"
#: Refusals that nothing mends which a controller does.
_FOR_GOOD: Final = (
    BadRequest,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    RequestEntityTooLarge,
    Unauthorized,
    UnknownKind,
    UnsupportedMediaType,
)


def checked(scenario: Scenario) -> Cluster:
    """The cluster at the start of a scenario that can be explored."""
    _check_fields(scenario)
    cluster = first_cluster(scenario)
    _check_controllers(scenario, found_controllers(scenario, cluster), cluster)
    _check_properties(scenario, cluster)
    _check_actions(scenario, cluster)
    return cluster


def _check_fields(scenario: Scenario) -> None:
    for name in ("controllers", "objects", "crds", "actions", "properties"):
        value = getattr(scenario, name)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise BadScenario(f"Scenario({name}=...): expected a list, found {_shown(value)}", scenario.place)
    for name, cls in (("bounds", Bounds), ("guards", Guards), ("reductions", Reductions)):
        value = getattr(scenario, name)
        if not isinstance(value, cls):
            raise BadScenario(f"Scenario({name}=...): expected {cls.__name__}(...), found {value!r}", scenario.place)
    if not scenario.controllers:
        raise BadScenario("Scenario(controllers=[]): there is nothing to explore without a controller", scenario.place)


def _shown(value: object) -> str:
    """A value, or only its type where it would fill the screen."""
    text = repr(value)
    return text if len(text) <= 80 else f"a {type(value).__name__}"


# Objects


def first_cluster(scenario: Scenario) -> Cluster:
    """The cluster with the definitions and the objects of a scenario in it."""
    given = [*_given(scenario, "crds"), *_given(scenario, "objects")]
    state = empty_state()
    for where, obj in sorted(given, key=lambda each: seed_order(each[1])):
        try:
            state = seed(state, obj, manager=_USER)
        except ApiError as error:
            raise BadScenario(f"{where} ({_introduced_object(obj)}): {error.message}", scenario.place) from error
    return Cluster(state=state, manager=_USER)


def _introduced_object(obj: Mapping[str, Any]) -> str:
    kind = kind_of(obj).kind or "no kind"
    return f"{kind} {str(key_of(obj)) or 'without a name'}" if isinstance(obj.get("metadata"), Mapping) else kind


def _given(scenario: Scenario, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, obj in enumerate(getattr(scenario, name)):
        if not isinstance(obj, Mapping):
            found = _shown(obj)
            raise BadScenario(f"{name}[{index}]: expected an object (a dict), found {found}", scenario.place)
        yield f"{name}[{index}]", obj


# Controllers


def found_controllers(scenario: Scenario, cluster: Cluster) -> list[Controller]:
    """The controllers of a scenario; those that it only names are looked up among the built-in ones."""
    found: list[Controller] = []
    built_in: Mapping[str, Controller] = {}
    for index, each in enumerate(scenario.controllers):
        if isinstance(each, str):
            built_in = built_in or _library(cluster)
            if each not in built_in:
                message = f"controllers[{index}]: {not_among('built-in controller', each, sorted(built_in))}"
                raise BadScenario(message, scenario.place)
            found.append(built_in[each])
        elif isinstance(each, Controller):
            found.append(each)
        else:
            hint = f"; write {each.__name__}(), not {each.__name__}" if isinstance(each, type) else ""
            message = f"controllers[{index}]: expected a Controller or the name of a built-in one, found {each!r}{hint}"
            raise BadScenario(message, scenario.place)
    return found


def _library(cluster: Cluster) -> Mapping[str, Controller]:
    module, function = _LIBRARY
    by_name: Callable[[Iterable[Mapping[str, Any]]], Mapping[str, Controller]]
    by_name = getattr(import_module(module), function)
    return by_name(cluster.list(_DEFINITIONS))


def check_written(controller: Controller, place: Place | None) -> None:
    """Refuse a controller that cannot run as it is written; ``place`` is where it is used, if its class is nowhere."""
    try:
        check_controller(controller)
    except BadController as error:
        raise BadScenario(str(error), defined_at(type(controller)) or place) from error


def _check_controllers(scenario: Scenario, controllers: Sequence[Controller], cluster: Cluster) -> None:
    known: dict[str, Controller] = {}
    for controller in controllers:
        check_written(controller, scenario.place)
        _check_kinds(scenario, controller, cluster)
        other = known.get(controller.name)
        if other is not None:
            hint = f"; give one of them another name = {controller.name + '2'!r}"
            if type(other) is type(controller):
                hint = "; for more instances of one controller say Bounds(concurrent=2)"
            both = " and ".join(_introduced(type(each)) for each in (other, controller))
            raise BadScenario(f"two controllers are called {controller.name}: {both}{hint}", scenario.place)
        known[controller.name] = controller


def _introduced(cls: type) -> str:
    place = defined_at(cls)
    return cls.__name__ if place is None else f"{cls.__name__} ({place})"


def _check_kinds(scenario: Scenario, controller: Controller, cluster: Cluster) -> None:
    named = (("kind", (controller.kind,)), ("owns", controller.owns), ("watches", tuple(controller.watches)))
    for attribute, kinds in (*named, ("kinds", controller.kinds)):
        for kind in kinds:
            try:
                resource_of(cluster.state.registry, parse_kind(kind))
            except (UnknownKind, BadName) as error:
                cls = type(controller)
                place = defined_at(cls) or scenario.place
                raise BadScenario(f"{cls.__name__}.{attribute}: {error}", place) from error


# Properties


def _check_properties(scenario: Scenario, cluster: Cluster) -> None:
    known: dict[str, Property] = {}
    for index, each in enumerate(scenario.properties):
        if not isinstance(each, Property):
            name = getattr(each, "__name__", None)
            raise BadScenario(
                f"properties[{index}]: expected always(...), never(...), eventually(...) or sometimes(...), "
                f"found {f'the function {name}; write always({name})' if name else repr(each)}",
                scenario.place,
            )
        if each.name in BUILT_IN:
            raise BadScenario(
                f"{each}: {each.name} is always checked, by that name; give this property another: name='...'",
                each.place,
            )
        if each.name in known:
            raise BadScenario(
                f"two properties are called {each.name}: {known[each.name]} at {known[each.name].place}, and {each} "
                "here; give one another name: name='...'",
                each.place,
            )
        known[each.name] = each
        # A question about a write cannot be asked yet: nothing has been written.
        if each.arity == 1:
            holds(each, Cluster(state=cluster.state), when="asked about the cluster at the start")


# Actions


def _check_actions(scenario: Scenario, cluster: Cluster) -> None:
    trial = cluster.fork()
    for index, action in enumerate(scenario.actions):
        if not isinstance(action, Action):
            raise BadScenario(
                f"actions[{index}]: expected create(...), update(...), patch(...) or delete(...), found {action!r}",
                scenario.place,
            )
        try:
            # Of the first cluster: what can be read and written stays the same during a search.
            resource_of(cluster.state.registry, parse_kind(action.kind))
            action.perform(trial)
        except _FOR_GOOD as error:
            raise never_taken(action, error.message) from error
        except ApiError:
            continue  # a controller may make the object, or take it away
        except Exception as error:
            message = f"the action {action.text!r} raised {type(error).__name__}: {error}"
            raise BadScenario(message, action.place) from error
