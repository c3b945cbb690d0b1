"""A shard as an actor of another engine: the same for Ray and Dask, which call its methods.

The scenario travels pickled, the user's modules as source text. Where a scenario cannot be pickled, the worker loads it
from its file, or from the source of that file.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from importlib import metadata
from typing import Any, NamedTuple

from kontend.executors.results import Raised, portable
from kontend.explore.problems import BadScenario
from kontend.explore.shards.shard import Shard, collect_seldom
from kontend.explore.shards.spec import ShardSpec
from kontend.runtime.user_sources import UserCode


class Parcel(NamedTuple):
    """Everything that a worker needs to make a shard."""

    code: UserCode
    #: A pickled :class:`ShardSpec`.
    spec: bytes
    version: str

    @classmethod
    def of(cls, spec: ShardSpec, dumps: Callable[[Any], bytes]) -> Parcel:
        """Pack a spec with the pickler of an engine. Raises :class:`BadScenario`."""
        code, version = UserCode.loaded(), metadata.version("kontend")
        try:
            return cls(code, dumps(spec.portable()), version)
        except Exception as error:
            if spec.source is not None:
                return cls(code, dumps(spec.from_source()), version)
            raise BadScenario(
                f"executor: the scenario cannot be sent to a worker ({error}); define it, its controllers and its "
                "functions at the top level of a module"
            ) from None


class RemoteShard:
    """A shard in a worker. The first call reports a failure to make it."""

    def __init__(self, parcel: Parcel) -> None:
        self._shard: Shard | None = None
        self._failure: Exception | None = None
        collect_seldom()
        try:
            self._shard = _made(parcel)
        except Exception as error:
            self._failure = error

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """Call a method of the shard."""
        try:
            if self._failure is not None:
                raise self._failure
            return getattr(self._shard, method)(*arguments)
        except Exception as error:
            return Raised(portable(error))


def _made(parcel: Parcel) -> Shard:
    version = metadata.version("kontend")
    if version != parcel.version:
        raise BadScenario(f"executor: a worker has kontend {version}, the search {parcel.version}; install the same")
    parcel.code.install()
    try:
        spec: ShardSpec = pickle.loads(parcel.spec)  # noqa: S301 (from the search that has started this worker)
    except (ImportError, AttributeError) as error:
        raise BadScenario(
            f"executor: a worker cannot import the code of the scenario ({error}); install it on the workers, too"
        ) from error
    except OSError as error:
        raise BadScenario(
            f"executor: a worker lacks a file that a module of the scenario reads ({error}); put it on the workers, too"
        ) from error
    return Shard(spec.make())
