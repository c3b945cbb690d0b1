"""The description of a write to the Kubernetes API, as read from source code.

This is the auditor's vocabulary. A `Site` describes one place that writes: which part of the object, with which verb,
from which base, whether the server checks a version, where the object came from, what happens on a conflict and what
becomes of the error. It holds no opinion. Verdicts are made from it by a policy (`kontend.audit.judge`), because two
good projects hold opposite rules about the very same write.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum


class Verb(StrEnum):
    """The verb of a write."""

    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"
    APPLY = "apply"
    DELETE = "delete"
    CREATE_OR_UPDATE = "create-or-update"


class PatchType(StrEnum):
    """The content type of a patch, as far as it matters to concurrent writers."""

    MERGE = "merge"
    STRATEGIC = "strategic"
    JSON = "json"
    APPLY = "apply"
    UNKNOWN = "unknown"


class Target(StrEnum):
    """The part of the object that a write carries."""

    STATUS = "status"
    FINALIZERS = "finalizers"
    OWNER_REFERENCES = "ownerReferences"
    LABELS = "labels"
    SPEC = "spec"
    OBJECT = "object"


class Lock(StrEnum):
    """The check that makes the server refuse a write when another one came in between."""

    LOCKED = "locked"  # a resourceVersion (or a JSON patch `test`) travels with the patch
    UNLOCKED = "unlocked"  # nothing is checked: the last writer wins
    VERSIONED = "versioned"  # a PUT of an object that was read: its resourceVersion is checked
    OWNED = "owned"  # server-side apply: fields are owned, no version is checked
    MIXED = "mixed"  # locked on some paths only
    MERGED = "merged"  # a library merges lists by key and locks what it cannot merge
    UNKNOWN = "unknown"
    NONE = "none"  # creates, and deletes without preconditions


class BaseOrigin(StrEnum):
    """The place where the base of a patch is made."""

    INLINE = "inline"
    LOCAL = "local"
    REASSIGNED = "reassigned"
    CLOSURE = "closure"
    PARAMETER = "parameter"
    HELPER = "helper"
    FIELD = "field"
    LIBRARY = "library"
    BODY = "body"  # Python: a dict literal, there is no base
    NONE = "none"


class Provenance(StrEnum):
    """The source of the written object."""

    CACHED_GET = "cached get"
    LIVE_GET = "live get"
    LIST_ITEM = "list item"
    JUST_WRITTEN = "just written"
    BUILT = "built here"
    SHARED = "shared pointer"
    PARAMETER = "parameter"
    HANDLER = "handler argument"
    UNKNOWN = "unknown"


class ErrorUse(StrEnum):
    """The fate of the error of a write."""

    RETURNED = "returned"
    LOGGED = "logged"
    DROPPED = "dropped"
    HANDLED = "handled"


class Obstacle(StrEnum):
    """A reason why a lock on the base of a patch would change more than the refusal of stale writes."""

    NONE = "none"
    STALE_BASE = "stale base"  # the base is older than the controller's own last write: every attempt would conflict
    READ_APART = "read apart"  # the base is newer than the object: its version would let an older object through
    DATA_READ = "data read"  # code reads the patch's bytes, which a lock makes non-empty by a resourceVersion
    NO_VERSION = "no version"  # the base was built and never read: a lock is refused before anything is sent
    ERROR_LOST = "error lost"  # a caller drops the error, so that a conflict would lose this write


class Role(StrEnum):
    """The kind of file that a site is in."""

    PRODUCTION = "production"
    TEST = "test"
    GENERATED = "generated"


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A line of a file, with a note for people."""

    path: str = ""
    line: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Base:
    """The base a patch is computed from, or the body it sends."""

    origin: BaseOrigin = BaseOrigin.NONE
    text: str = ""
    line: int = 0
    path: str = ""
    snapshot: str = ""
    hops: int = 0
    span: tuple[int, int] = (0, 0)
    """The bytes of the constructor or the body in its file."""
    lock_at: tuple[int, int, str] | None = None
    """Go: the end of the constructor's name, the end of its arguments, and the package it is called from."""
    read_apart: bool = False
    """The object was read again since: where it is newer, the patch carries its version, and the server checks it."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The loop around the write that repeats it on a conflict."""

    wrapper: str
    line: int
    rereads: bool
    live: bool = False
    blind: str = ""
    """The assignment that replaces the whole status by one computed before the loop, if there is one."""
    outdated: str = ""
    """The assignment of a value that was computed from the object before the loop, if there is one."""
    always: bool = False
    """The predicate of the retry is true for every error."""
    on_conflict: bool = True
    """The wrapper repeats after a conflict, rather than after any error that a predicate accepts."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing noticed about a site that a rule may speak about: its rule's name, a place and a sentence."""

    rule: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A place that is no write and that a rule speaks about."""

    path: str
    line: int
    end_line: int
    function: str
    code: str
    fact: Fact
    role: Role = Role.PRODUCTION


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a write in the source."""

    language: str
    path: str
    line: int
    end_line: int
    function: str
    code: str
    """All of the call."""
    role: Role = Role.PRODUCTION
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """The kind of object that is written, as far as its type is in sight."""

    kind: str = ""
    subresource: str = ""
    custom: bool | None = None
    """The kind is a custom resource; None where its type cannot be seen."""
    group: str = ""
    """The last part of the package of the kind's type, without its version; nothing where it names no API group."""
    local_kind: bool = True
    """The kind's type is declared in the audited tree, so that the tree's CRDs are about it."""


@dataclass(frozen=True, slots=True)
class Content:
    """The part of the object that the write carries, and how the code changed it."""

    targets: tuple[Target, ...]
    fields: tuple[str, ...] = ()
    """The paths that the write is known to carry, as in `status.phase`."""
    lists: tuple[str, ...] = ()
    """Those of the fields that are lists."""
    recomputed: tuple[str, ...] = ()
    """Those of the fields whose new value is computed from their old one."""
    conditions: tuple[str, ...] = ()
    """Types of the status conditions that the write sets, where they are constants."""
    removal: bool = False
    """Finalizers or owner references are only taken away."""


@dataclass(frozen=True, slots=True)
class Route:
    """The way from the code that decides about a write to the call of the API."""

    via: str = ""
    """The helper, when the write happens inside a callee that takes the mutation from here."""
    helper: Location = Location()
    """The API call that the helper makes for this site."""
    chain: tuple[Location, ...] = ()
    """The calls between this site and that API call, through helpers of helpers."""
    of_client: bool = False
    """The write is part of a client that the audited code implements: its callers decide what is sent."""


@dataclass(frozen=True, slots=True)
class Runner:
    """The worker and the programs that run the write, as far as they tell whether two writes can run at once."""

    worker: str = ""
    """The unit that runs one write after another for one object: a Go package, a kopf resource, a Python file."""
    owner: str = ""
    """Python: the resource whose handler writes, or the file."""
    controller: str = ""
    """Go: the type with a `Reconcile` method that the write is in, where the package has several; each has a queue."""
    queues: tuple[str, ...] = ()
    """Go: the queues whose workers may run the write, each named by a directory and a type."""
    programs: tuple[str, ...] = ()
    filtered: bool = False
    """The controller registers with a predicate of its own, so it may see only some objects of the kind."""


@dataclass(frozen=True, slots=True)
class Making:
    """The part of a write in the making of its object."""

    owned_child: bool = False
    owner_reference: bool | None = None
    """A create: the object carries an owner reference, does not, or it cannot be seen."""
    replaces_created: bool = False
    """An update of the object that a Create just before was refused for, because it exists: create or replace."""
    creates_or_patches: bool = False
    """A call of a helper that reads the object, creates it where it is missing, and patches it where it is there."""


@dataclass(frozen=True, slots=True)
class Site:
    """One write to the API, classified: where it is, what it writes, how, and what surrounds it."""

    place: Place
    resource: Resource
    content: Content
    call: str
    """The call in short, as in `Status().Patch`."""
    verb: Verb
    lock: Lock
    route: Route = field(default_factory=Route)
    runner: Runner = field(default_factory=Runner)
    making: Making = field(default_factory=Making)
    object: str = ""
    client: str = ""
    patch_type: PatchType | None = None
    base: Base = field(default_factory=Base)
    provenance: Provenance = Provenance.UNKNOWN
    read_line: int = 0
    retry: Retry | None = None
    error: ErrorUse = ErrorUse.HANDLED
    conflict_branch: int = 0
    """The line at which the code asks whether the write's error is a conflict."""
    deleting: bool = False
    """The code runs for an object that is being deleted."""
    obstacle: Obstacle = Obstacle.NONE
    """The reason why the base of an unlocked patch cannot be locked without a change elsewhere."""
    facts: tuple[Fact, ...] = ()

    @property
    def status(self) -> bool:
        """The write carries status, through the status subresource or otherwise."""
        return Target.STATUS in self.content.targets

    @property
    def direct(self) -> bool:
        """The call itself is the API call, rather than a call of a helper that makes it."""
        return not self.route.via


def primary(targets: tuple[Target, ...]) -> Target:
    """Return the target a reviewer would name first.

    >>> primary((Target.LABELS, Target.FINALIZERS)).value
    'finalizers'
    """
    for target in Target:
        if target in targets:
            return target
    return Target.OBJECT


def resource_key(kind: str) -> str:
    """Bring the names one resource goes by to one form: `DaskCluster`, `daskcluster.kubernetes.dask.org`,
    `daskclusters`.

    >>> {resource_key("DaskCluster"), resource_key("daskcluster.kubernetes.dask.org"), resource_key("daskclusters")}
    {'daskcluster'}
    """
    name = kind.split(".")[0].split("/")[0].lower()
    name = re.sub(r"[^a-z0-9]", "", name)
    if name.endswith("ies"):
        return name[:-3] + "y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name
