"""``kontend run FILE``: from a file with controllers to a running manager, and clear words for what cannot run."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kontend.cli import main
from kontend.cluster.cluster import Cluster
from kontend.runtime.client.http_backend import HttpBackend
from kontend.runtime.user_file import controllers_in, load_file
from kontend.serve.background import BackgroundServer
from runtime.samples import GADGET, GADGETS, gadget

OPERATOR = '''
from kontend.runtime.controller import Controller
from kontend.runtime.manager.process import Manager

class Base(Controller):
    """Has no kind: is not run."""

class Marks(Base):
    kind = "Gadget.example.com/v1"

    async def reconcile(self, request, api):
        obj = await api.get(self.kind, request)
        if not obj.get("status"):
            obj["status"] = {"marked": True}
            await api.status.update(obj)
'''


def written(path: Path, text: str = OPERATOR) -> Path:
    path.write_text(text)
    return path


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """``kontend run`` in a process of its own."""
    command = [sys.executable, "-m", "kontend", "run", *arguments]
    with subprocess.Popen(command, text=True, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def marked(server: BackgroundServer) -> None:
    """Wait until the gadget is marked."""

    async def wait() -> None:
        backend = HttpBackend(server.url)
        version = int(server.cluster.resource_version)
        if server.cluster.get(GADGET, "a").get("status"):
            return
        async for _, obj in backend.watch(GADGET, version, idle=20):
            if obj.get("status"):
                backend.close()
                return

    asyncio.run(asyncio.wait_for(wait(), 30))


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_the_controllers_of_a_file_run_until_a_signal(tmp_path: Path, stop: signal.Signals) -> None:
    file = written(tmp_path / "operator.py")  # a name that the standard library has too
    with BackgroundServer(Cluster(crds=[GADGETS], objects=[gadget("a")]).state) as server:
        options = ["--kubeconfig", str(server.kubeconfig), "--status-address", "off", "--log-format", "json"]
        with running(str(file), *options, "--leader-elect", "marks") as process:
            marked(server)
            process.send_signal(stop)
            assert process.wait(20) == 0
            assert process.stderr is not None
            assert '"message":"stopped"' in process.stderr.read()
        assert server.cluster.get("Lease.coordination.k8s.io/v1", "marks")["spec"].get("holderIdentity") in (None, "")


def test_a_manager_in_the_file_is_used_as_it_is(tmp_path: Path) -> None:
    file = written(tmp_path / "mine.py", OPERATOR + "manager = Manager(Marks(), status_address=None)\n")
    state = Cluster(crds=[GADGETS], objects=[gadget("a")]).state
    with BackgroundServer(state) as server, running(str(file), "--server", server.url) as process:
        marked(server)
        process.terminate()
        assert process.wait(20) == 0


def test_only_the_controllers_that_a_file_defines_are_run(tmp_path: Path) -> None:
    module = load_file(written(tmp_path / "some.py"))
    assert [controller.name for controller in controllers_in(module)] == ["marks"]


def test_a_directory_is_a_package_whose_controllers_are_those_that_it_imports_from_its_modules(tmp_path: Path) -> None:
    package = tmp_path / "some_operator"
    (package / "parts").mkdir(parents=True)
    written(package / "__init__.py", "from kontend import Controller\nfrom .parts.marking import Marks\n")
    written(package / "parts" / "__init__.py", "")
    written(package / "parts" / "marking.py")
    written(package / "unused.py", OPERATOR)
    for path in (package, package / "__init__.py"):
        assert [type(controller).__name__ for controller in controllers_in(load_file(path))] == ["Marks"]


@pytest.mark.parametrize("name", ["json", "not-a-name"])
def test_a_package_that_cannot_have_its_own_name_is_imported_under_another(tmp_path: Path, name: str) -> None:
    package = tmp_path / name
    package.mkdir()
    written(package / "__init__.py", "from .marking import Marks\n")
    written(package / "marking.py")
    assert [controller.name for controller in controllers_in(load_file(package))] == ["marks"]


def test_a_directory_that_is_no_package_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tmp_path)]) == 2
    assert "a directory without __init__.py; name a Python file or a package" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", [], "it defines no controller: expected a class that extends kontend.Controller"),
        (OPERATOR, ["--server", "here"], "--server: expected a URL"),
        (OPERATOR, ["--server", "http://x", "--context", "y"], "choose one"),
        (OPERATOR, ["--kubeconfig", "/nowhere/config"], "/nowhere/config: no such file"),
        (OPERATOR, ["--server", "http://127.0.0.1:9", "--status-address", "x"], "expected host:port"),
        (OPERATOR + "manager = Manager(Marks())", ["--leader-elect", "l"], "makes its own manager; set it there"),
        (
            OPERATOR + "Marks.__init__ = lambda self, x: None",
            [],
            "Marks() raised TypeError: <lambda>() missing 1 required positional argument: 'x'; construct it",
        ),
        (OPERATOR + "Marks.kind = 'Gadget'", ["--server", "http://x"], "expected Kind.group/version"),
    ],
)
def test_a_file_that_cannot_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, options: list[str], words: str
) -> None:
    assert main(["run", str(written(tmp_path / "file.py", text)), *options]) == 2
    message = capsys.readouterr().err
    assert message.startswith("kontend run: ")
    assert words in message


def test_wrong_options_and_help_have_their_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tmp_path / "missing.py")]) == 2
    assert "no such file" in capsys.readouterr().err
    assert main(["run", "--help"]) == 0
    assert "--leader-elect" in capsys.readouterr().out
    assert main(["run", "file.py", "--without-guard", "nothing"]) == 2
