"""What users may import."""

from __future__ import annotations

import subprocess
import sys

import kontend


def test_every_public_name_can_be_imported() -> None:
    assert sorted(kontend.__all__) == dir(kontend)
    for name in kontend.__all__:
        assert getattr(kontend, name) is not None


def test_importing_kontend_loads_nothing_else() -> None:
    code = "import sys, kontend; print(sorted(name for name in sys.modules if name.startswith('kontend.')))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
