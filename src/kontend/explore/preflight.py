"""Checks of a scenario before the search, for everything that could only fail later.

Each mistake is a :class:`BadScenario` with the line on which it was made. The server itself judges what depends on it:
the objects are stored, the properties are asked about the initial cluster, the actions are tried on a copy of it. An
action on an object that does not exist yet is not a mistake here, because a controller may create the object; the
search reports an action that was never possible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

from kontend.cluster.cluster import Cluster
from kontend.cluster.startup.seed import UnknownKind, empty_state, resource_of, seed, seed_order
from kontend.explore.actions import Action, Writer, never_possible
from kontend.explore.problems import BadScenario, not_among
from kontend.explore.program.external import DEFINITION, external_object
from kontend.explore.program.foreign import ForeignController
from kontend.explore.program.identities import FIRST_VERSION, chosen, first_serial
from kontend.explore.properties.built_in import BuiltIn
from kontend.explore.properties.fields import missing_field
from kontend.explore.properties.property import Property
from kontend.explore.scenario import Bounds, Reductions, Scenario
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
from kontend.kube.meta.names import BadName, key_of, kind_of
from kontend.runtime.controller import BadController, Controller
from kontend.runtime.controller import check as check_controller
from kontend.runtime.guards import Guards
from kontend.runtime.source_location import SourceLocation, defined_at

#: The built-in controllers are beside this layer, not below, so they are imported by name and only when needed.
_LIBRARY: Final = ("kontend.controllers", "by_name")
_DEFINITIONS: Final = "CustomResourceDefinition.apiextensions.k8s.io/v1"
_USER: Final = "user"
#: A field of a kind; names with dots stand in brackets, and so do elements of lists (``[type=Ready]``).
_FIELD: Final = re.compile(r"""[A-Z]\w*(\.[^.\[\]"]+|\["[^"]+"\]|\[[^\]"]+=[^\]]*\])*""")
_STEPS: Final = re.compile(r"""\.([^.\[\]"]+)|\["([^"]+)"\]""")
#: The API group of roles and their bindings.
_ROLES: Final = "rbac.authorization.k8s.io/"
#: Refusals that no action of a controller can change.
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


def checked_cluster(scenario: Scenario) -> Cluster:
    """The initial cluster of a scenario that can be explored. Raises :class:`BadScenario`."""
    check_fields(scenario)
    cluster = initial_cluster(scenario)
    _check_controllers(scenario, resolved_controllers(scenario, cluster), cluster)
    _check_properties(scenario, cluster)
    _check_actions(scenario, cluster)
    _check_named_fields(scenario, cluster)
    return cluster


def check_fields(scenario: Scenario) -> None:
    """Check the types of the fields of a scenario. Raises :class:`BadScenario`."""
    for name in ("controllers", "objects", "crds", "actions", "writers", "properties", "enforced", "ignore"):
        value = getattr(scenario, name)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise BadScenario(f"Scenario({name}=...): expected a list, found {_shown(value)}", scenario.line)
    for name, cls in (("bounds", Bounds), ("guards", Guards), ("reductions", Reductions)):
        value = getattr(scenario, name)
        if not isinstance(value, cls):
            raise BadScenario(f"Scenario({name}=...): expected {cls.__name__}(...), found {value!r}", scenario.line)
    if not scenario.controllers:
        raise BadScenario("Scenario(controllers=[]): there is nothing to explore without a controller", scenario.line)


def _check_named_fields(scenario: Scenario, cluster: Cluster) -> None:
    """Refuse a field that no kind has: it would match nothing."""
    if any(action.kind == _DEFINITIONS for user in scenario.everybody() for action in user.actions):
        return  # a user may define the kind
    resources = cluster.state.registry.resources()
    for name in ("enforced", "ignore"):
        for field in getattr(scenario, name):
            where = f"Scenario({name}=[{field!r}])"
            if not isinstance(field, str) or not _FIELD.fullmatch(field):
                example = 'ConfigMap.data.next or Pod.metadata.annotations["example.com/seen"]'
                raise BadScenario(f"{where}: expected a kind and a path, such as {example}", scenario.line)
            kind = field.partition(".")[0].partition("[")[0]
            schemas = [resource.schema for resource in resources if resource.kind == kind]
            if not schemas:
                close = get_close_matches(kind, sorted({resource.kind for resource in resources}), n=1)
                hint = f": did you mean {close[0]}?" if close else ""
                raise BadScenario(f"{where}: no kind {kind!r} is served{hint}", scenario.line)
            steps = [plain or quoted for plain, quoted in _STEPS.findall(field)]
            problems = [missing_field(schema, steps) for schema in schemas]
            if all(problems):
                raise BadScenario(f"{where}: {problems[0]}", scenario.line)


def _shown(value: object) -> str:
    """A value, or only its type where it would fill the screen."""
    text = repr(value)
    name = type(value).__name__
    return text if len(text) <= 80 else f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


# Objects


def initial_cluster(scenario: Scenario) -> Cluster:
    """The cluster with the definitions and the objects of a scenario in it."""
    given = [*_given(scenario, "crds"), *_given(scenario, "objects"), *_outside(scenario)]
    state = empty_state().replace(resource_version=FIRST_VERSION)
    for where, obj in sorted(given, key=lambda item: seed_order(item[1])):
        # Uids that follow each other would start alike: code that cuts them could not tell objects apart.
        serial = first_serial("initial", chosen(_introduced_object(obj), scenario.bounds.identities), 0)
        try:
            state = seed(state.replace(serial=serial), obj, manager=_USER)
        except ApiError as error:
            raise BadScenario(f"{where} ({_introduced_object(obj)}): {error.message}", scenario.line) from error
    # Access reviews and the authorizer of policies answer by the roles that there are. Controllers may do anything.
    has_roles = any(str(obj.get("apiVersion")).startswith(_ROLES) for _, obj in given)
    return Cluster(state=state, manager=_USER, rbac=has_roles)


def _outside(scenario: Scenario) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects that hold the states of what is outside of the cluster, and their definition."""
    externals: dict[str, Any] = {}
    for controller in scenario.controllers:
        if isinstance(controller, ForeignController):
            externals |= controller.externals
    if externals:
        yield "externals", DEFINITION
    for name, state in externals.items():
        yield "externals", external_object(name, state)


def _introduced_object(obj: Mapping[str, Any]) -> str:
    kind = kind_of(obj).kind or "no kind"
    return f"{kind} {str(key_of(obj)) or 'without a name'}" if isinstance(obj.get("metadata"), Mapping) else kind


def _given(scenario: Scenario, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, obj in enumerate(getattr(scenario, name)):
        if not isinstance(obj, Mapping):
            shown = _shown(obj)
            raise BadScenario(f"{name}[{index}]: expected an object (a dict), found {shown}", scenario.line)
        yield f"{name}[{index}]", obj


# Controllers


def resolved_controllers(scenario: Scenario, cluster: Cluster) -> list[Controller]:
    """The controllers of a scenario; those that it only names are looked up among the built-in ones."""
    controllers: list[Controller] = []
    built_in: Mapping[str, Controller] = {}
    for index, controller in enumerate(scenario.controllers):
        if isinstance(controller, str):
            built_in = built_in or _library(cluster)
            if controller not in built_in:
                message = f"controllers[{index}]: {not_among('built-in controller', controller, sorted(built_in))}"
                raise BadScenario(message, scenario.line)
            controllers.append(built_in[controller])
        elif isinstance(controller, Controller):
            controllers.append(controller)
        else:
            hint = f"; write {controller.__name__}(), not {controller.__name__}" if isinstance(controller, type) else ""
            message = (
                f"controllers[{index}]: expected a Controller or the name of a built-in one, found {controller!r}{hint}"
            )
            raise BadScenario(message, scenario.line)
    return controllers


def _library(cluster: Cluster) -> Mapping[str, Controller]:
    module, function = _LIBRARY
    by_name: Callable[[Iterable[Mapping[str, Any]]], Mapping[str, Controller]]
    by_name = getattr(import_module(module), function)
    return by_name(cluster.list(_DEFINITIONS))


def check_written(controller: Controller, line: SourceLocation | None) -> None:
    """Refuse a controller that cannot run as it is written; ``line`` is where it is used, if its class has no line."""
    try:
        check_controller(controller)
    except BadController as error:
        raise BadScenario(str(error), defined_at(type(controller)) or line) from error


def _check_controllers(scenario: Scenario, controllers: Sequence[Controller], cluster: Cluster) -> None:
    known: dict[str, Controller] = {}
    for controller in controllers:
        check_written(controller, scenario.line)
        _check_kinds(scenario, controller, cluster)
        other = known.get(controller.name)
        if other is not None:
            hint = f"; give one of them another name = {controller.name + '2'!r}"
            if type(other) is type(controller):
                hint = "; for more instances of one controller say Bounds(concurrent=2)"
            both = " and ".join(_introduced(type(clashing)) for clashing in (other, controller))
            raise BadScenario(f"two controllers are called {controller.name}: {both}{hint}", scenario.line)
        known[controller.name] = controller


def check_memory(scenario: Scenario, controller: Controller) -> None:
    """Refuse memory that reconciles share which run at once: a search does not follow it between two calls."""
    if controller.max_concurrent > 1 and controller.memory:
        cls = type(controller)
        raise BadScenario(
            f"{cls.__name__}: memory = {tuple(controller.memory)!r} is shared by reconciles that run at once "
            f"(max_concurrent = {controller.max_concurrent}), which is not explored; explore it with "
            "max_concurrent = 1, or keep this in an object",
            defined_at(cls) or scenario.line,
        )


def _introduced(cls: type) -> str:
    line = defined_at(cls)
    return cls.__name__ if line is None else f"{cls.__name__} ({line})"


def _check_kinds(scenario: Scenario, controller: Controller, cluster: Cluster) -> None:
    named = (("kind", (controller.kind,)), ("owns", controller.owns), ("watches", tuple(controller.watches)))
    for attribute, kinds in (*named, ("kinds", controller.kinds)):
        for kind in kinds:
            try:
                resource_of(cluster.state.registry, kind)
            except (UnknownKind, BadName) as error:
                cls = type(controller)
                line = defined_at(cls) or scenario.line
                raise BadScenario(f"{cls.__name__}.{attribute}: {error}", line) from error


# Properties


def _check_properties(scenario: Scenario, cluster: Cluster) -> None:
    known: dict[str, Property] = {}
    for index, prop in enumerate(scenario.properties):
        if not isinstance(prop, Property):
            name = getattr(prop, "__name__", None)
            raise BadScenario(
                f"properties[{index}]: expected always(...), never(...), eventually(...) or sometimes(...), "
                f"found {f'the function {name}; write always({name})' if name else repr(prop)}",
                scenario.line,
            )
        if prop.name in set(BuiltIn):
            raise BadScenario(
                f"{prop}: {prop.name} is always checked, by that name; give this property another: name='...'",
                prop.line,
            )
        if prop.name in known:
            raise BadScenario(
                f"two properties are called {prop.name}: {known[prop.name]} at {known[prop.name].line}, and {prop} "
                "here; give one another name: name='...'",
                prop.line,
            )
        known[prop.name] = prop
        if prop.mistake is not None and (message := prop.mistake(cluster)):
            raise BadScenario(f"{prop}: {message}")
        # A question about a write cannot be asked yet: nothing has been written.
        if prop.arity == 1:
            prop.ask(Cluster(state=cluster.state), when="asked about the initial cluster")


# Actions


def _check_actions(scenario: Scenario, cluster: Cluster) -> None:
    for index, action in enumerate(scenario.actions):
        _check_action(scenario, f"actions[{index}]", action)
    for index, user in enumerate(scenario.writers):
        if not isinstance(user, Writer):
            raise BadScenario(f"writers[{index}]: expected Writer(name, actions), found {user!r}", scenario.line)
        if not isinstance(user.actions, Sequence) or isinstance(user.actions, str):
            message = f"writers[{index}].actions: expected a list of actions, found {user.actions!r}"
            raise BadScenario(message, user.line)
        for at, action in enumerate(user.actions):
            _check_action(scenario, f"writers[{index}].actions[{at}]", action)
    for user in scenario.everybody():
        trial = cluster.fork()
        for action in user.actions:
            try:
                # Of the first cluster: what can be read and written stays the same during a search.
                resource_of(cluster.state.registry, action.kind)
                action.perform(trial, user.name)
            except _FOR_GOOD as error:
                # No object of a kind that is not served can be created first: the message says what is missing.
                reason = "" if isinstance(error, UnknownKind) else error.status_reason
                raise never_possible(action, reason, error.message) from error
            except ApiError:
                continue  # a controller may make the object, or take it away
            except Exception as error:
                message = f"the action {action.text!r} raised {type(error).__name__}: {error}"
                raise BadScenario(message, action.line) from error


def _check_action(scenario: Scenario, where: str, action: object) -> None:
    if not isinstance(action, Action):
        raise BadScenario(
            f"{where}: expected create(...), update(...), patch(...) or delete(...), found {action!r}", scenario.line
        )
    if action.when is not None and not callable(action.when):
        message = f"when={action.when!r}: expected a function of the cluster that says whether the user acts"
        raise BadScenario(message, action.line)
