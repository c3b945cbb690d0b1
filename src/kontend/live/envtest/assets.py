"""The directory for ``KUBEBUILDER_ASSETS``: small scripts that start the stand-ins.

Scripts, not links, because envtest starts them by path and asks each for ``--help`` first: the shell answers that
without starting Python. It also notes the process that started it, which may end before Python can ask.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

#: The flags that envtest looks for in the help. ``--insecure-port`` is not among them, as in Kubernetes 1.24 and later.
_HELP: Final = {
    "kube-apiserver": "  --secure-port int\n  --bind-address ip\n  --cert-dir string\n  --client-ca-file string\n",
    "etcd": "  --data-dir string\n  --listen-client-urls string\n  --unsafe-no-fsync\n",
}
_SCRIPT: Final = """\
#!/bin/sh
# Written by kontend envtest.
if [ "$1" = --help ]; then
  printf '%s' {help}
  exit 0
fi
export KONTEND_PARENT=$PPID
exec {command} "$@"
"""


def directory() -> Path:
    """Return the directory of this user and this Python."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "kontend" / "envtest"


def write_assets(target: Path) -> Path:
    """Write the stand-ins, and a link to kubectl if there is one; return their directory."""
    target.mkdir(parents=True, exist_ok=True)
    commands = {
        "kube-apiserver": [sys.executable, "-m", "kontend.live.envtest"],
        "etcd": [sys.executable, "-I", "-S", str(Path(__file__).with_name("etcd.py"))],
    }
    for name, text in _HELP.items():
        script = _SCRIPT.format(help=shlex.quote(text), command=shlex.join(commands[name]))
        path = target / name
        if not path.exists() or path.read_text(encoding="utf-8") != script:
            # Replaced in one step: a suite may be starting the old one.
            fresh = target / f".{name}.{os.getpid()}"
            fresh.write_text(script, encoding="utf-8")
            fresh.chmod(0o755)
            fresh.replace(path)
    kubectl, link = shutil.which("kubectl"), target / "kubectl"
    if kubectl and not link.exists():
        link.unlink(missing_ok=True)
        link.symlink_to(kubectl)
    return target
