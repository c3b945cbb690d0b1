"""Runs kopf as in an image without client libraries: it imports those that are installed, and needs none of them.

They take more than half of the processor time of a start, and a campaign starts the operator a hundred times. A quarter
of the rest is spent on certificates that a server without TLS does not need.
"""

from __future__ import annotations

import os
import runpy
import sys

sys.modules.update(dict.fromkeys(["kubernetes", "kubernetes_asyncio", "pykube"]))  # type: ignore[arg-type]
os.environ.setdefault("SSL_CERT_FILE", os.devnull)
runpy.run_module("kopf", run_name="__main__", alter_sys=True)
