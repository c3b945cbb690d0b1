"""Subresources that a real server passes on to a kubelet or a pod: logs, exec, attach, port-forward, proxy.

Nothing runs behind this server, so in the end such a request is refused. Before that it is checked as kube-apiserver
checks it: the options, the container, the node of the pod.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any, Final

from kontend.cluster.options import integer
from kontend.cluster.request import ApiRequest, Target
from kontend.cluster.state import State
from kontend.kube.encoding.meta_time import TimeError, canonical_time
from kontend.kube.errors import ApiError, BadRequest, invalid, not_found
from kontend.kube.field_errors import FieldError, forbidden
from kontend.kube.field_errors import invalid as invalid_field

CONNECTIONS: Final = ("attach", "exec", "log", "portforward", "proxy")
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_WITH_CONTAINER: Final = ("attach", "exec", "log")


def connect(state: State, target: Target, request: ApiRequest) -> tuple[State, None, int]:
    """Answers a request for a connection: the logs of a pod without a node are empty, the rest is refused."""
    resource = target.resource
    subresource = target.subresource.partition("/")[0]
    obj = _checked(state, target, request)
    if resource.key == "pods" and subresource == "log" and not _is_assigned(obj):
        return state, None, 204
    raise _nothing_runs(target, subresource)


def checked_pod(state: State, target: Target, request: ApiRequest) -> dict[str, Any]:
    """Return the pod that a request for a connection is about; raise an ApiError as kube-apiserver would."""
    pod = _checked(state, target, request)
    if not _is_assigned(pod):
        raise BadRequest(f"pod {target.name} does not have a host assigned")
    return pod


def _checked(state: State, target: Target, request: ApiRequest) -> dict[str, Any]:
    resource, subresource = target.resource, target.subresource.partition("/")[0]
    if subresource == "log":
        _check_log_options(target, request)
    version = state.find(resource.key, target.key)
    if version is None:
        raise not_found(resource.group, resource.plural, target.name)
    obj = version.content()
    if resource.key == "pods":
        if subresource == "proxy":
            _check_address(obj)
        elif subresource in _WITH_CONTAINER:
            _check_container(obj, target.name, request.first("container"))
        if subresource not in ("proxy", "log") and not _is_assigned(obj):
            raise BadRequest(f"pod {target.name} does not have a host assigned")
    return obj


def _is_assigned(pod: Mapping[str, Any]) -> bool:
    return bool((pod.get("spec") or {}).get("nodeName"))


def _check_log_options(target: Target, request: ApiRequest) -> None:
    tail, limit, since = (integer(request.query, name) for name in ("tailLines", "limitBytes", "sinceSeconds"))
    moment = request.first("sinceTime")
    if moment:
        try:
            canonical_time(moment)
        except TimeError as error:
            raise BadRequest(str(error)) from None
    errors: list[FieldError] = []
    if tail is not None and tail < 0:
        errors.append(invalid_field("tailLines", tail, "must be greater than or equal to 0"))
    if limit is not None and limit < 1:
        errors.append(invalid_field("limitBytes", limit, "must be greater than 0"))
    if since is not None and moment:
        errors.append(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif since is not None and since < 1:
        errors.append(invalid_field("sinceSeconds", since, "must be greater than 0"))
    if "stream" in request.query:
        errors.append(forbidden("stream", "may not be specified"))
    if errors:
        raise invalid("", "PodLogOptions", target.name, errors)


def _check_container(pod: Mapping[str, Any], name: str, container: str) -> None:
    spec = pod.get("spec") or {}
    names = [container.get("name", "") for field in _CONTAINERS for container in spec.get(field) or ()]
    if container:
        if container not in names:
            raise BadRequest(f"container {container} is not valid for pod {name}")
    elif len(spec.get("containers") or ()) != 1:
        raise BadRequest(f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]")


def _check_address(pod: Mapping[str, Any]) -> None:
    """Refuses a pod whose address is not one that a pod may have."""
    try:
        address = ipaddress.ip_address((pod.get("status") or {}).get("podIP") or "")
    except ValueError:
        raise BadRequest("address not allowed") from None
    if address.is_loopback or address.is_multicast or address.is_unspecified or address.is_link_local:
        raise BadRequest("address not allowed")


def _nothing_runs(target: Target, subresource: str) -> ApiError:
    what = {"log": "there are no logs", "exec": "nothing can be executed", "attach": "nothing can be attached to"}
    why, resource = what.get(subresource, "there is nothing to connect to"), target.resource
    return BadRequest(f"nothing runs in the {resource.plural} of kontend: {why} in {resource.singular} {target.name}")
