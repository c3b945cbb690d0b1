"""Tests of ``kontend init --go``: the test that it writes for a Go package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kontend.cli.command import UsageError
from kontend.cli.exploring.explore import run as explore
from kontend.cli.init import run

OPERATORS = Path(__file__).parents[2] / "examples" / "go"
RECONCILER = """
package widgets

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	widgetsv1 "example.com/widgets/api/v1"
)

type WidgetReconciler struct {
	client.Client
	Live     client.Reader
	Scheme   *runtime.Scheme
	Recorder record.EventRecorder
	Image    string
}

func (r *WidgetReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).For(&widgetsv1.Widget{}).WithOptions(options).Complete(r)
}
"""


def test_a_test_gives_fields_of_the_usual_types_what_a_manager_has(tmp_path: Path) -> None:
    (tmp_path / "widgets.go").write_text(RECONCILER)
    assert run(["--go", str(tmp_path)]) == 0
    text = (tmp_path / "explore_test.go").read_text()
    assert text.startswith("//go:build kontend && ignore\n\npackage widgets\n")
    assert 'widgetsv1 "example.com/widgets/api/v1"' in text
    assert "utilruntime.Must(widgetsv1.AddToScheme(scheme))" in text
    for value in (
        "Client: mgr.GetClient()",
        "Live: mgr.GetAPIReader()",
        "Scheme: mgr.GetScheme()",
        'Recorder: mgr.GetEventRecorderFor("kontend")',
    ):
        assert value in text
    assert "SetupWithManager(context.Background(), mgr, *new(controller.Options))" in text
    assert '\t"sigs.k8s.io/controller-runtime/pkg/controller"\n' in text
    assert "// Not set: Image string." in text


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    (tmp_path / "widgets.go").write_text(RECONCILER)
    (tmp_path / "explore_test.go").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        run(["--go", str(tmp_path)])
    assert (tmp_path / "explore_test.go").read_text() == "mine"


def test_a_package_without_controllers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.go").write_text("package main\n\nfunc main() {}\n")
    with pytest.raises(UsageError, match="SetupWithManager"):
        run(["--go", str(tmp_path)])


def test_the_written_test_can_be_explored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KONTEND_CACHE", str(tmp_path / "cache"))

    if shutil.which("go") is None:
        pytest.skip("there is no command go")
    module = tmp_path / "module"
    shutil.copytree(OPERATORS, module)
    (module / "doubleplan" / "explore_test.go").unlink()
    assert run(["--go", str(module / "doubleplan")]) == 0
    assert explore(["--go", str(module / "doubleplan"), "--failures", str(tmp_path / "failures")]) == 1
    assert "lost update" in capsys.readouterr().out


GENERIC = """
package widgets

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type Labeler[T client.Object] struct {
	client.Client
	New func() T
}

func (r *Labeler[T]) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(r.New()).Complete(r)
}
"""
MAIN = """
package main

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/widgets/internal/widgets"
)

func main() {
	_ = (&widgets.Labeler[*corev1.Pod]{New: pod}).SetupWithManager(mgr)
	_ = (&widgets.Labeler[*corev1.Secret]{New: secret}).SetupWithManager(mgr)
}
"""


def test_a_generic_type_gets_the_types_that_main_gives_it(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module example.com/widgets\n")
    package = tmp_path / "internal" / "widgets"
    package.mkdir(parents=True)
    (package / "labeler.go").write_text(GENERIC)
    assert run(["--go", str(package)]) == 0
    assert "// Labeler is generic, and nothing makes one" in (package / "explore_test.go").read_text()
    (tmp_path / "cmd").mkdir()
    (tmp_path / "cmd" / "main.go").write_text(MAIN)
    assert run(["--go", str(package), "--force"]) == 0
    text = (package / "explore_test.go").read_text()
    assert "(&Labeler[*corev1.Pod]{Client: mgr.GetClient()}).SetupWithManager(mgr)" in text
    assert "(&Labeler[*corev1.Secret]{Client: mgr.GetClient()}).SetupWithManager(mgr)" in text
    assert '\tcorev1 "k8s.io/api/core/v1"\n' in text
    assert "// Not set: New func() T. Give them the values that main gives them (cmd/main.go:11, and 1 more)." in text


VALUES = """
package main

import (
	"flag"

	gatewayv1 "example.com/gateway/api/v1"
	"example.com/lib/clients"
	"example.com/widgets/internal/hooks"
	"example.com/widgets/internal/widgets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

func main() {
	image := flag.String("image", "", "")
	flag.Parse()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = gatewayv1.Install(scheme)
	names := clients.Names{Prefix: "w-", Depth: 2}
	_ = (&widgets.WidgetReconciler{
		Names: clients.Cached(names), Kind: &widgets.Kind{}, Image: *image, Hook: hooks.New(),
	}).SetupWithManager(mgr)
}
"""
FIELDS = """
package widgets

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/lib/clients"
)

type WidgetReconciler struct {
	Names clients.Source
	Kind  *Kind
	Image string
	Hook  any
}

func (r *WidgetReconciler) SetupWithManager(mgr ctrl.Manager) error { return nil }
"""


def test_fields_get_the_values_of_main_that_mean_the_same_in_a_test(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module example.com/widgets\n")
    package = tmp_path / "internal" / "widgets"
    package.mkdir(parents=True)
    (package / "widgets.go").write_text(FIELDS)
    (tmp_path / "main.go").write_text(VALUES)
    assert run(["--go", str(package)]) == 0
    text = (package / "explore_test.go").read_text()
    # Hooks may import the package itself, and the image comes from a flag.
    assert "// Not set: Image string, Hook any. Give them the values that main gives them (main.go:20)." in text
    made = '(&WidgetReconciler{Names: clients.Cached(clients.Names{Prefix: "w-", Depth: 2}), Kind: &Kind{}})'
    assert f"{made}.SetupWithManager(mgr)" in text
    assert '\t"example.com/lib/clients"\n' in text
    assert "hooks" not in text
    # Reconciles make objects of kinds that are not watched, too.
    assert "\tutilruntime.Must(gatewayv1.Install(scheme))\n" in text
    assert text.count("clientgoscheme.AddToScheme(scheme)") == 1


def test_functions_that_take_a_manager_are_called_where_no_type_has_a_method(tmp_path: Path) -> None:
    imports = 'import (\n\t"context"\n\n\tctrl "sigs.k8s.io/controller-runtime"\n)\n\n'
    functions = (
        "func Setup(ctx context.Context, mgr ctrl.Manager, wait bool) error { return nil }\n\n"
        "func Name() error { return nil }\n"
    )
    (tmp_path / "setup.go").write_text(f"package widgets\n\n{imports}{functions}")
    assert run(["--go", str(tmp_path)]) == 0
    text = (tmp_path / "explore_test.go").read_text()
    assert "if err := Setup(context.Background(), mgr, *new(bool)); err != nil {" in text
    assert "Name()" not in text
