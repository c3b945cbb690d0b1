"""Admission webhooks: which of them a write concerns, what they are asked, and what their answers mean.

The calls themselves are effects (:mod:`kontend.cluster.effects`). Mutating webhooks are asked one after the other,
validating ones all at once.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kontend.cluster.admission.conditions import ConditionError, conditions_hold
from kontend.cluster.admission.configurations import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from kontend.cluster.admission.matching import matched_resource
from kontend.cluster.admission.operation import Operation
from kontend.cluster.admission.variables import admission_request, values
from kontend.cluster.effects import Answer, WebhookCall, call_key, call_uid
from kontend.cluster.effects.webhook_client import webhook_call
from kontend.cluster.memo import Memo
from kontend.cluster.resources import Resource
from kontend.cluster.state import Objects
from kontend.cluster.storage import check_namespace_matches
from kontend.kube.encoding.json_text import canonical
from kontend.kube.errors import ApiError, BadRequest, forbidden, internal_error
from kontend.kube.field_errors import go_quote
from kontend.kube.meta.names import api_version, kind_of
from kontend.kube.patches.json_patch import apply_json_patch, parse_json_patch

_REVIEW: Final = "admission.k8s.io/v1, Kind=AdmissionReview"


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of a configuration."""

    configuration: str
    name: str
    spec: Mapping[str, Any]

    @property
    def identity(self) -> str:
        """A text that no other webhook has."""
        return f"{self.configuration}/{self.name}"

    @property
    def fails_closed(self) -> bool:
        """Reports whether a call that fails refuses the write."""
        return self.spec.get("failurePolicy") != "Ignore"


def _webhooks(objects: Objects) -> list[Webhook]:
    webhooks = []
    for key, version in sorted(objects.items()):
        for spec in version.content().get("webhooks") or ():
            webhooks.append(Webhook(key.name, spec["name"], spec))
    return webhooks


_configured: Final = Memo(_webhooks)


@dataclass(slots=True)
class Reinvocation:
    """The mutating webhooks that have been called in this write, and those to call again."""

    called: set[str]
    again: set[str]
    changed: bool = False


def mutate(operation: Operation, reinvocation: Reinvocation, *, second: bool) -> None:
    """Asks the mutating webhooks, in the order of their configurations; changes the object of ``operation``."""
    objects = operation.state.objects(MUTATING_WEBHOOKS)
    if not len(objects):
        return
    for webhook in _configured(objects):
        if second and webhook.identity not in reinvocation.again:
            continue
        resource = _concerned(webhook, operation)
        if resource is None:
            continue
        question = _question(webhook, operation, resource, "second" if second else "first")
        assert operation.target.answers is not None  # the caller has looked
        response = _response(webhook, operation, question, operation.target.answers.all([question])[0])
        if response is None:
            continue
        if _patch(webhook, operation, resource, response):
            reinvocation.again |= reinvocation.called
            reinvocation.called.clear()
            reinvocation.changed = True
        if webhook.spec.get("reinvocationPolicy") == "IfNeeded":
            reinvocation.called.add(webhook.identity)


def validate(operation: Operation) -> None:
    """Asks all validating webhooks; the first that refuses, in the order of their configurations, decides."""
    objects = operation.state.objects(VALIDATING_WEBHOOKS)
    if not len(objects):
        return
    asked: list[tuple[Webhook, WebhookCall]] = []
    for webhook in _configured(objects):
        resource = _concerned(webhook, operation)
        if resource is not None:
            asked.append((webhook, _question(webhook, operation, resource, "validating")))
    assert operation.target.answers is not None  # the caller has looked
    answers = operation.target.answers.all([call for _, call in asked])
    for (webhook, call), answer in zip(asked, answers, strict=True):
        _response(webhook, operation, call, answer)


def _concerned(webhook: Webhook, operation: Operation) -> Resource | None:
    """Return the resource as which a webhook sees the write, if it is to see it."""
    resource = matched_resource(webhook.spec, operation)
    if resource is None:
        return None
    conditions = webhook.spec.get("matchConditions") or ()
    try:
        if conditions and not conditions_hold(conditions, values(operation, resource)):
            return None
    except ConditionError as error:
        if not webhook.fails_closed:
            return None
        target = operation.target
        raise forbidden(target.resource.group, target.resource.plural, operation.object_name, str(error)) from None
    if operation.target.options.dry_run and webhook.spec.get("sideEffects") not in ("None", "NoneOnDryRun"):
        raise BadRequest(f"admission webhook {go_quote(webhook.name)} does not support dry run")
    return resource


def _question(webhook: Webhook, operation: Operation, resource: Resource, phase: str) -> WebhookCall:
    request = admission_request(operation, resource)
    request["object"], request["oldObject"] = operation.shown(resource), operation.shown_old(resource)
    key = call_key("admission", phase, webhook.identity, canonical(webhook.spec), canonical(request))
    request["uid"] = call_uid(key)
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    timeout = int(webhook.spec.get("timeoutSeconds") or 10)
    return webhook_call(webhook.spec["clientConfig"], timeout, canonical(review), key)


def _response(webhook: Webhook, operation: Operation, call: WebhookCall, answer: Answer) -> Mapping[str, Any] | None:
    """Return the response of a webhook that allows the write; None when the call failed and may fail."""
    problem, response = _read(answer, call)
    if problem:
        if not webhook.fails_closed:
            return None
        raise internal_error(f"failed calling webhook {go_quote(webhook.name)}: {problem}")
    for warning in response.get("warnings") or ():
        operation.target.warn(str(warning))
    if response.get("allowed") is not True:
        raise _denied(webhook.name, response.get("status") or response.get("result"))
    return response


def _read(answer: Answer, call: WebhookCall) -> tuple[str, Mapping[str, Any]]:
    """Return the mistake in an answer, and the response in it."""
    if answer.error:
        return f"failed to call webhook: {answer.error}", {}
    review = answer.body
    if not isinstance(review, dict):
        return "failed to call webhook: the response is not a JSON object", {}
    response = review.get("response")
    if not isinstance(response, dict):
        return "received invalid webhook response: webhook response was absent", {}
    kind = f"{review.get('apiVersion', '')}, Kind={review.get('kind', '')}"
    if kind != _REVIEW:
        return f"received invalid webhook response: expected webhook response of {_REVIEW}, got {kind}", {}
    uid, wanted = str(response.get("uid") or ""), call_uid(call.key)
    if uid != wanted:
        why = f"expected response.uid={go_quote(wanted)}, got {go_quote(uid)}"
        return f"received invalid webhook response: {why}", {}
    patch, patch_type = response.get("patch"), response.get("patchType")
    if patch and not patch_type:
        return "received invalid webhook response: webhook returned response.patch but not response.patchType", {}
    if patch and patch_type != "JSONPatch":
        why = f"invalid response.patchType, must be {go_quote('JSONPatch')}, got {go_quote(str(patch_type))}"
        return f"received invalid webhook response: {why}", {}
    return "", response


def _patch(webhook: Webhook, operation: Operation, resource: Resource, response: Mapping[str, Any]) -> bool:
    """Apply the patch of a response to the object; whether it changed anything."""
    encoded = response.get("patch")
    if not encoded or operation.obj is None:
        return False
    before = operation.shown(resource)
    try:
        operations = parse_json_patch(b64decode(encoded))
        patched = apply_json_patch(operation.shown(resource), operations)
    except (ApiError, ValueError) as error:
        raise internal_error(next(iter(getattr(error, "__notes__", ())), str(error))) from None
    if not isinstance(patched, dict):
        raise internal_error(f"the patch of webhook {go_quote(webhook.name)} leaves no object")
    if orjson.dumps(before, option=orjson.OPT_SORT_KEYS) == orjson.dumps(patched, option=orjson.OPT_SORT_KEYS):
        return False
    if not isinstance(patched.setdefault("metadata", {}), dict) and resource.custom is not None:
        raise internal_error("metadata: expected an object")
    operation.replace(_resource_of(operation, resource, patched), patched)
    check_namespace_matches(operation.target, operation.obj["metadata"])
    return True


def _resource_of(operation: Operation, resource: Resource, patched: dict[str, Any]) -> Resource:
    """Return the version that a patched object is written at. Refuse one of another kind.

    kube-apiserver decodes the object by what it calls itself, and converts that to the kind of the request. It compares
    the namespace before it stores the object, after all webhooks. Here the first webhook that changes it ends the
    request, so that no later one is asked about an object that cannot be stored.
    """
    registry = operation.state.registry
    if resource.custom is None:
        patched["apiVersion"] = patched.get("apiVersion") or api_version(resource.group, resource.version)
        patched["kind"] = patched.get("kind") or resource.kind
    written = kind_of(patched)
    if not written.kind:
        raise internal_error(f"Object 'Kind' is missing in '{orjson.dumps(patched).decode()}'")
    found = registry.of_kind(written)
    if found is not None and found.key == resource.key:
        return found
    if resource.custom is None:
        why = registry.why_not(resource, written)
        raise ApiError(why, code=500) if found is not None else internal_error(why)
    if registry.of_kind(written._replace(kind=resource.kind)) is not None:
        return resource  # another kind: its schema refuses it
    group_version = api_version(written.group, written.version)
    raise ApiError(f"request to convert CR from an invalid group/version: {group_version}", code=500)


def _denied(name: str, status: Any) -> ApiError:
    given: Mapping[str, Any] = status if isinstance(status, Mapping) else {}
    code = given.get("code")
    code = code if isinstance(code, int) and not isinstance(code, bool) and code >= 400 else 400
    text = str(given.get("message") or given.get("reason") or "")
    message = f"admission webhook {go_quote(name)} denied the request"
    details = given.get("details")
    return ApiError(
        f"{message}: {text}" if text else f"{message} without explanation",
        code=code,
        reason=str(given.get("reason") or ""),
        details=dict(details) if isinstance(details, Mapping) else None,
    )
