"""Parts of sentences about writes."""

from __future__ import annotations

from kontend.explore.explain.fields import ABSENT, shown, text_of, value_at
from kontend.explore.properties.overwrites import Overwrite
from kontend.race.moment import Moment, Version


def did(moment: Moment, overwrite: Overwrite) -> str:
    """Describe the write of a field."""
    path, name = overwrite.path, object_name(moment)
    if overwrite.vanished:
        return f"wrote {text_of(path[:-1])} of {name} without {path[-1]}"
    assert moment.version is not None
    value = value_at(moment.version.content(), path)
    if value is ABSENT:
        return f"removed {text_of(path)} of {name}"
    return f"wrote {text_of(path)} = {shown(value)} to {name}"


def had_changed(old: Version, overwrite: Overwrite) -> str:
    """Describe the write that is undone, after "had"."""
    value = value_at(old.content(), overwrite.path)
    if overwrite.vanished:
        return "added it"
    return "removed it" if value is ABSENT else f"changed it to {shown(value)}"


def object_name(moment: Moment) -> str:
    """Return the object of a moment, for sentences."""
    kind = moment.kind.partition("/")[0].partition(".")[0]
    key = moment.key
    return f"{kind} {key.namespace}/{key.name}" if key.namespace else f"{kind} {key.name}"


def number_of(moment: Moment) -> int:
    """Return the version that a write made."""
    assert moment.version is not None
    return moment.version.number
