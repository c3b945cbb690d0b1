"""What all tests share."""

from __future__ import annotations

import sys
from pathlib import Path

# Test packages import each other's helpers by name (conformance.replayer), whatever file pytest was given.
sys.path.insert(0, str(Path(__file__).parent))
