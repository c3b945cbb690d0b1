"""A call that writes to the Kubernetes API, with its parts told apart."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kontend.audit.go.source.package import GoFile
from kontend.audit.go.source.syntax import Node
from kontend.audit.site import Verb

VERBS = {
    "Update": Verb.UPDATE,
    "UpdateStatus": Verb.UPDATE,
    "Patch": Verb.PATCH,
    "Create": Verb.CREATE,
    "Delete": Verb.DELETE,
    "DeleteAllOf": Verb.DELETE,
    "DeleteCollection": Verb.DELETE,
    "Apply": Verb.APPLY,
    "ApplyStatus": Verb.APPLY,
    "CreateOrUpdate": Verb.CREATE_OR_UPDATE,
    "CreateOrPatch": Verb.CREATE_OR_UPDATE,
    "UpdateScale": Verb.UPDATE,
    "UpdateApproval": Verb.UPDATE,
    "UpdateEphemeralContainers": Verb.UPDATE,
    "UpdateResize": Verb.UPDATE,
    "Finalize": Verb.UPDATE,
    "UpdateOperatorStatus": Verb.UPDATE,
    "ApplyOperatorStatus": Verb.APPLY,
    "UpdateStaticPodOperatorStatus": Verb.UPDATE,
    "ApplyStaticPodOperatorStatus": Verb.APPLY,
    "UpdateStaticPodStatus": Verb.UPDATE,
}


class Dialect(Enum):
    """Whose client makes the call."""

    CONTROLLER = "controller-runtime"
    CLIENT_GO = "client-go"
    CONTROLLERUTIL = "controllerutil"
    LIBRARY = "patch library"
    OPERATOR = "library-go"


@dataclass(frozen=True, slots=True)
class Write:
    """A call that writes, with its parts told apart."""

    file: GoFile
    call: Node
    dialect: Dialect
    verb: Verb
    method: str
    receiver: Node | None
    subresource: str
    object: Node | None
    patch: Node | None
    options: tuple[Node, ...]
