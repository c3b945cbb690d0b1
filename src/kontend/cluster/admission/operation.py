"""One write on its way through admission: what webhooks and policies may look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import orjson

from kontend.cluster.request import Target
from kontend.cluster.resources import Resource
from kontend.cluster.state import State
from kontend.cluster.storage import read_back, served, with_managed_fields
from kontend.kube.apply.managed_fields import ManagedFields
from kontend.kube.errors import BadRequest, internal_error
from kontend.kube.meta.names import Key

_OPTIONS: Final = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


def options_of(target: Target, *, creating: bool) -> dict[str, Any]:
    """Return the options of a request as an object of the API."""
    kind = "CreateOptions" if creating else _OPTIONS.get(target.verb, "DeleteOptions")
    options: dict[str, Any] = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    given = target.options
    if given.dry_run:
        options["dryRun"] = ["All"]
    if kind != "DeleteOptions":
        validation = "" if given.field_validation == "Warn" else given.field_validation  # that is the default
        options |= {"fieldManager": given.field_manager, "fieldValidation": validation}
    if kind == "PatchOptions" and given.force:
        options["force"] = True
    return {name: value for name, value in options.items() if value}


@dataclass
class Operation:
    """A create, update or delete of an object. ``obj`` is what will be stored so far; None on a delete."""

    state: State
    target: Target
    obj: dict[str, Any] | None
    creating: bool
    managed: ManagedFields = ()
    #: The options of the request, as an object of the API.
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``CREATE``, ``UPDATE`` or ``DELETE``."""
        if self.obj is None:
            return "DELETE"
        return "CREATE" if self.creating else "UPDATE"

    @property
    def object_name(self) -> str:
        """The name of the object, as far as it is known."""
        if self.target.name or self.obj is None:
            return self.target.name
        return str(self.obj["metadata"].get("name") or "")

    def shown(self, resource: Resource) -> dict[str, Any] | None:
        """Return a copy of the object as webhooks see it, at the version of ``resource``."""
        if self.obj is None:
            return None
        obj: dict[str, Any] = orjson.loads(orjson.dumps(self.obj))
        return served(resource, with_managed_fields(obj, self.managed))

    def shown_old(self, resource: Resource) -> dict[str, Any] | None:
        """Return the object as it is stored, at the version of ``resource``."""
        version = None if self.creating else self.state.find(self.target.resource.key, self.target.key)
        return None if version is None else read_back(resource, version)

    def replace(self, resource: Resource, obj: dict[str, Any]) -> None:
        """Take over an object at the version of ``resource``, decoded and defaulted, in place of the one so far."""
        assert self.obj is not None  # there is nothing to replace on a delete
        if isinstance(obj["metadata"], dict):
            obj["metadata"].pop("managedFields", None)
        try:
            decoded = served(self.target.resource, resource.normalized(obj)[0])
        except BadRequest as error:  # of a webhook, not of the client
            raise internal_error(str(error)) from None
        self.obj.clear()
        self.obj.update(decoded)

    @cached_property
    def namespace_object(self) -> dict[str, Any] | None:
        """The namespace of the object; None for an object that is in none."""
        if not self.target.resource.namespaced:
            return None
        version = self.state.find("namespaces", Key("", self.target.namespace))
        return None if version is None else version.content()

    def labels(self) -> list[Mapping[str, str]]:
        """Return the labels of the new and of the old object, as far as there are these."""
        label_sets = []
        old = self.shown_old(self.target.resource)
        for obj in (self.obj, old):
            if obj is not None:
                label_sets.append(obj["metadata"].get("labels") or {})
        return label_sets
