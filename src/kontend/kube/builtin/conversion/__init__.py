"""Conversion between the versions of built-in kinds that are served in more than one form.

Objects are stored in one form, the hub: events as those of the core group, autoscalers in version 2. A
:class:`Conversion` turns an object of another form into the hub's and back. Both functions take the object over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from kontend.kube.builtin.conversion import autoscaler, event
from kontend.kube.json_types import Json


class Conversion(NamedTuple):
    """Conversion of one served form of a kind to the stored form, and back."""

    hub_group: str
    hub_version: str
    to_hub: Callable[[Json], Json]
    from_hub: Callable[[Json], Json]


_CONVERSIONS: Final[Mapping[tuple[str, str, str], Conversion]] = {
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): Conversion(
        "autoscaling", "v2", autoscaler.to_version_2, autoscaler.to_version_1
    ),
    ("events.k8s.io", "v1", "Event"): Conversion("", "v1", event.to_core, event.to_events_group),
}


def conversion_of(group: str, version: str, kind: str) -> Conversion | None:
    """Return the conversion of a form that is not stored as it is.

    >>> conversion_of("events.k8s.io", "v1", "Event").hub_group, conversion_of("", "v1", "Event")
    ('', None)
    """
    return _CONVERSIONS.get((group, version, kind))
