"""Names that users import from ``kontend``. At run time ``kontend/__init__.py`` reads them from this file."""

# ruff: noqa: I001 - one import for each module

from kontend.cluster.cluster import Cluster as Cluster
from kontend.cluster.hooks import (
    Denied as Denied,
    Review as Review,
)
from kontend.cluster.startup.seed import UnknownKind as UnknownKind
from kontend.cluster.state import State as State
from kontend.cluster.users import User as User
from kontend.kube.errors import (
    AlreadyExists as AlreadyExists,
    ApiError as ApiError,
    BadRequest as BadRequest,
    Conflict as Conflict,
    Forbidden as Forbidden,
    Gone as Gone,
    InternalError as InternalError,
    Invalid as Invalid,
    MethodNotAllowed as MethodNotAllowed,
    NotAcceptable as NotAcceptable,
    NotFound as NotFound,
    RequestEntityTooLarge as RequestEntityTooLarge,
    ServiceUnavailable as ServiceUnavailable,
    Timeout as Timeout,
    TooManyRequests as TooManyRequests,
    Unauthorized as Unauthorized,
    UnsupportedMediaType as UnsupportedMediaType,
)
from kontend.kube.meta.accessors import (
    controller_of as controller_of,
    is_controlled_by as is_controlled_by,
)
from kontend.kube.meta.new_object import new_object as new_object
from kontend.runtime.cache.informer import StaleCache as StaleCache
from kontend.runtime.client.api import Api as Api
from kontend.runtime.client.call import AnswerLost as AnswerLost
from kontend.runtime.client.http_backend import Unreachable as Unreachable
from kontend.runtime.client.kubeconfig import (
    BadKubeconfig as BadKubeconfig,
    Config as Config,
)
from kontend.runtime.client.patches import (
    Patch as Patch,
    json_patch as json_patch,
    merge_from as merge_from,
    merge_patch as merge_patch,
    raw as raw,
)
from kontend.runtime.controller import (
    BadController as BadController,
    Controller as Controller,
    Request as Request,
    Result as Result,
)
from kontend.runtime.guards import Guards as Guards
from kontend.runtime.manager.leases import (
    LeaderElection as LeaderElection,
    LostLease as LostLease,
)
from kontend.runtime.manager.process import Manager as Manager
from kontend.runtime.writes.children import (
    ChildOutcome as ChildOutcome,
    ForeignChild as ForeignChild,
    remove_child as remove_child,
    sync_child as sync_child,
)
from kontend.runtime.writes.conditions import (
    condition as condition,
    get_condition as get_condition,
    is_true as is_true,
    patch_conditions as patch_conditions,
    remove_condition as remove_condition,
    set_condition as set_condition,
)
from kontend.runtime.writes.finalizers import (
    add_finalizer as add_finalizer,
    has_finalizer as has_finalizer,
    remove_finalizer as remove_finalizer,
)
from kontend.runtime.writes.owners import (
    AlreadyOwned as AlreadyOwned,
    owner_reference as owner_reference,
    remove_owner_reference as remove_owner_reference,
    set_controller_reference as set_controller_reference,
    set_owner_reference as set_owner_reference,
)
from kontend.runtime.writes.scope import (
    NotStored as NotStored,
    StaleObject as StaleObject,
    StatusScope as StatusScope,
)
from kontend.kube.errors import WrongObject as WrongObject
from kontend.runtime.writes.spec import mutate_object as mutate_object
from kontend.runtime.writes.status import mutate_status as mutate_status
