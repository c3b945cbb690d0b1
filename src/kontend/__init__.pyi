"""Names that users import from ``kontend``. At run time ``kontend/__init__.py`` reads them from this file."""

from kontend.cluster.cluster import Cluster as Cluster
from kontend.cluster.hooks import (
    Denied as Denied,
)
from kontend.cluster.hooks import (
    Review as Review,
)
from kontend.cluster.seed import UnknownKind as UnknownKind
from kontend.cluster.state import State as State
from kontend.cluster.users import User as User
from kontend.kube.errors import (
    AlreadyExists as AlreadyExists,
)
from kontend.kube.errors import (
    ApiError as ApiError,
)
from kontend.kube.errors import (
    BadRequest as BadRequest,
)
from kontend.kube.errors import (
    Conflict as Conflict,
)
from kontend.kube.errors import (
    Forbidden as Forbidden,
)
from kontend.kube.errors import (
    Gone as Gone,
)
from kontend.kube.errors import (
    InternalError as InternalError,
)
from kontend.kube.errors import (
    Invalid as Invalid,
)
from kontend.kube.errors import (
    MethodNotAllowed as MethodNotAllowed,
)
from kontend.kube.errors import (
    NotAcceptable as NotAcceptable,
)
from kontend.kube.errors import (
    NotFound as NotFound,
)
from kontend.kube.errors import (
    RequestEntityTooLarge as RequestEntityTooLarge,
)
from kontend.kube.errors import (
    ServiceUnavailable as ServiceUnavailable,
)
from kontend.kube.errors import (
    Timeout as Timeout,
)
from kontend.kube.errors import (
    TooManyRequests as TooManyRequests,
)
from kontend.kube.errors import (
    Unauthorized as Unauthorized,
)
from kontend.kube.errors import (
    UnsupportedMediaType as UnsupportedMediaType,
)
from kontend.kube.meta.accessors import (
    controller_of as controller_of,
)
from kontend.kube.meta.accessors import (
    is_controlled_by as is_controlled_by,
)
from kontend.runtime.cache.informer import StaleCache as StaleCache
from kontend.runtime.client.api import Api as Api
from kontend.runtime.client.http_backend import (
    AnswerLost as AnswerLost,
)
from kontend.runtime.client.http_backend import (
    Unreachable as Unreachable,
)
from kontend.runtime.client.kubeconfig import (
    BadKubeconfig as BadKubeconfig,
)
from kontend.runtime.client.kubeconfig import (
    Config as Config,
)
from kontend.runtime.client.patches import (
    Patch as Patch,
)
from kontend.runtime.client.patches import (
    json_patch as json_patch,
)
from kontend.runtime.client.patches import (
    merge_from as merge_from,
)
from kontend.runtime.client.patches import (
    raw as raw,
)
from kontend.runtime.controller import (
    BadController as BadController,
)
from kontend.runtime.controller import (
    Controller as Controller,
)
from kontend.runtime.controller import (
    Request as Request,
)
from kontend.runtime.controller import (
    Result as Result,
)
from kontend.runtime.guards import Guards as Guards
from kontend.runtime.manager.leases import (
    LeaderElection as LeaderElection,
)
from kontend.runtime.manager.leases import (
    LostLease as LostLease,
)
from kontend.runtime.manager.process import Manager as Manager
from kontend.runtime.writes.children import (
    ChildOutcome as ChildOutcome,
)
from kontend.runtime.writes.children import (
    ForeignChild as ForeignChild,
)
from kontend.runtime.writes.children import (
    remove_child as remove_child,
)
from kontend.runtime.writes.children import (
    sync_child as sync_child,
)
from kontend.runtime.writes.conditions import (
    condition as condition,
)
from kontend.runtime.writes.conditions import (
    get_condition as get_condition,
)
from kontend.runtime.writes.conditions import (
    is_true as is_true,
)
from kontend.runtime.writes.conditions import (
    patch_conditions as patch_conditions,
)
from kontend.runtime.writes.conditions import (
    remove_condition as remove_condition,
)
from kontend.runtime.writes.conditions import (
    set_condition as set_condition,
)
from kontend.runtime.writes.finalizers import (
    add_finalizer as add_finalizer,
)
from kontend.runtime.writes.finalizers import (
    has_finalizer as has_finalizer,
)
from kontend.runtime.writes.finalizers import (
    remove_finalizer as remove_finalizer,
)
from kontend.runtime.writes.owners import (
    AlreadyOwned as AlreadyOwned,
)
from kontend.runtime.writes.owners import (
    owner_reference as owner_reference,
)
from kontend.runtime.writes.owners import (
    remove_owner_reference as remove_owner_reference,
)
from kontend.runtime.writes.owners import (
    set_controller_reference as set_controller_reference,
)
from kontend.runtime.writes.owners import (
    set_owner_reference as set_owner_reference,
)
from kontend.runtime.writes.scope import (
    NotStored as NotStored,
)
from kontend.runtime.writes.scope import (
    StaleObject as StaleObject,
)
from kontend.runtime.writes.scope import (
    StatusScope as StatusScope,
)
from kontend.runtime.writes.snapshot import WrongObject as WrongObject
from kontend.runtime.writes.spec import mutate_spec as mutate_spec
from kontend.runtime.writes.status import mutate_status as mutate_status
