"""kontend finds, explains and prevents concurrency bugs in Kubernetes controllers, without a cluster."""

from kontend.cluster.admission import Denied, Review
from kontend.cluster.cluster import Cluster
from kontend.cluster.seed import UnknownKind
from kontend.cluster.state import State
from kontend.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotFound,
    Timeout,
    TooManyRequests,
    Unauthorized,
)

__all__ = [
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Cluster",
    "Conflict",
    "Denied",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "MethodNotAllowed",
    "NotFound",
    "Review",
    "State",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "UnknownKind",
]
