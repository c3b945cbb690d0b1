"""The effort of tests: a sample of many cases by default, more of them where KONTEND_THOROUGH is 1, as in CI."""

from __future__ import annotations

import os
from typing import Final

THOROUGH: Final = os.environ.get("KONTEND_THOROUGH") == "1"


def effort(usual: int, thorough: int) -> int:
    """The number of cases to try."""
    return thorough if THOROUGH else usual
