"""The user's modules, sent to a process that does not have their files."""

from __future__ import annotations

import multiprocessing
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from executors.engines import loaded
from kontend.runtime.user_file import BadFile, load_file, source_of
from kontend.runtime.user_sources import UserCode

_MAIN = """
import threading
from sent_beside import name

LOCK = threading.Lock()


class Thing:
    where = __file__


def late():
    import sent_never_imported

    return sent_never_imported
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with a module beside it."""
    (tmp_path / "sent_main.py").write_text(_MAIN)
    (tmp_path / "sent_beside.py").write_text("name = 'beside'\n")
    return tmp_path / "sent_main.py"


def test_a_process_without_the_files_imports_them_from_their_sources(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(file.parent))
    monkeypatch.chdir(file.parent)
    load_file(file)
    code = UserCode.loaded()
    monkeypatch.chdir("/")
    shutil.rmtree(file.parent)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        origin = pool.submit(loaded, code, str(file)).result()
    assert origin == ("kontend_user_sent_main", "beside", str(file), "LOCK = threading.Lock()", "sent_main.py:5")


def test_only_the_users_modules_are_sent(file: Path) -> None:
    load_file(file)
    names = {source.name for source in UserCode.loaded().sources}
    assert {"kontend_user_sent_main", "sent_beside"} <= names
    assert not {name for name in names if name.partition(".")[0] in ("kontend", "pytest", "json", "orjson")}


def test_a_source_that_has_changed_takes_the_place_of_the_old_one(file: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = []
        for name in ("first", "second"):
            beside = source_of(file.parent / "sent_beside.py")._replace(name="sent_beside", text=f"name = {name!r}\n")
            results.append(pool.submit(loaded, UserCode([source_of(file), beside]), str(file)).result()[1])
    assert results == ["first", "second"]


def test_a_module_that_cannot_be_imported_is_named_with_its_line(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    broken = source_of(file)._replace(text="\n\nimport no_such_module_anywhere\n")
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
        pytest.raises(BadFile, match=r"sent_main.py:3: it cannot be imported: ModuleNotFoundError"),
    ):
        pool.submit(loaded, UserCode([broken]), str(file)).result()
