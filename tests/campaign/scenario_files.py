"""Files with small scenarios, one of each outcome."""

from __future__ import annotations

from pathlib import Path

_HEAD = """
import faulthandler, os
from kontend import Controller
from kontend.explore import Bounds, Scenario, update

OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "none", "namespace": "default"}}
OBJECT = {**OTHER, "metadata": {"name": "c", "namespace": "default"}, "data": {"a": "1"}}
CALM = Bounds(lag=0, faults=0)


class Reader(Controller):
    kind = "ConfigMap/v1"

    async def reconcile(self, request, api):
        await api.get(self.kind, request)
"""

HOLDS = f"""{_HEAD}
holds = Scenario([Reader()], objects=[OBJECT], bounds=CALM)
"""

VIOLATED = f"""{_HEAD}
class Raises(Reader):
    async def reconcile(self, request, api):
        raise ValueError("no \\x1b[31m such thing ]]> & <b>")

raises = Scenario([Raises()], objects=[OBJECT], bounds=CALM)
"""

CRASHES = f"""{_HEAD}
class Dies(Reader):
    async def reconcile(self, request, api):
        print("about to die", flush=True)
        faulthandler._sigsegv()

dies = Scenario([Dies()], objects=[OBJECT], bounds=CALM)
"""

REFUSED = f"""{_HEAD}
refused = Scenario([Reader()], objects=[OBJECT], actions=[update(OTHER, data={{"a": "2"}})], bounds=CALM)
"""

LIMITED = f"""{_HEAD}
class Writes(Reader):
    async def reconcile(self, request, api):
        found = await api.get(self.kind, request)
        if found["data"]["a"] != "3":
            found["data"]["a"] = str(int(found["data"]["a"]) + 1)
            await api.update(found)

limited = Scenario([Writes()], objects=[OBJECT], bounds=Bounds(states=2))
"""

#: The import itself ends the process.
ENDS = f"""{_HEAD}
os._exit(7)
"""

UNREADABLE = f"""{_HEAD}
raise RuntimeError("cannot be imported")
"""


def write_files(directory: Path, **files: str) -> Path:
    """Write files by their names, without the ending."""
    directory.mkdir(exist_ok=True)
    for name, content in files.items():
        (directory / f"{name}.py").write_text(content)
    return directory
