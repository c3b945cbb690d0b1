"""The effort of tests: a sample of many cases by default, more of them where KONTEND_THOROUGH is 1, as in CI."""

from __future__ import annotations

import os
from typing import Final

THOROUGH: Final = os.environ.get("KONTEND_THOROUGH") == "1"

#: The files that take longest. They come first, so that none of them is left to one process when the others are done.
LONGEST: Final = (
    "live/test_hostile.py", "explore/oracle/test_generated.py", "executors/test_engines.py", "live/test_plain.py",
    "explore/test_operators.py",
    "live/test_campaign.py", "explore/parts/test_parts.py", "live/test_planted_bugs.py",
    "explore/search/test_memory_limit.py", "live/test_other_clients.py", "explore/search/walks/test_walks.py",
    "live/test_webhooks.py", "explore/reduction/test_reductions.py", "campaign/test_live_commands.py",
    "explore/test_known_answers.py", "campaign/test_resuming.py", "explore/search/test_depth_first.py",
    "cli/test_terminal.py", "audit/test_robustness.py", "test_manual.py", "serve/test_durability.py",
)  # fmt: skip


def effort(usual: int, thorough: int) -> int:
    """The number of cases to try."""
    return thorough if THOROUGH else usual
