"""Lines of the user's code, for messages that name the line to change."""

from kontend.runtime.source_location import SourceLocation as Place
from kontend.runtime.source_location import caller, defined_at, raised_at

__all__ = ["Place", "caller", "defined_at", "raised_at"]
