"""Sources in memory become a tree on disk; an audit of it becomes findings by line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from kontend.audit.auditor import audit
from kontend.audit.report import Report
from kontend.audit.settings.config import Settings

Auditor = Callable[..., Report]

GO_HEAD = """\
package widget

import (
	"context"

	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "example.com/widget/api/v1"
)

type Reconciler struct {
	client.Client
}
"""


@pytest.fixture
def audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Auditor:
    """Write files below a directory, go there, and audit it."""

    def run(files: dict[str, str], settings: Settings | None = None, *, head: bool = True) -> Report:
        for name, content in files.items():
            path = tmp_path / "tree" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = dedent(content)
            path.write_text(GO_HEAD + text if head and name.endswith(".go") else text)
        monkeypatch.chdir(tmp_path / "tree")
        return audit(["."], settings or Settings())

    return run
