"""Files written without following links, archives read within limits."""

from __future__ import annotations

import contextlib
import stat
import zipfile
from pathlib import Path

import pytest

from kontend.safe_files import BadArchive, real_directory, unpack, write_private, write_whole


def test_a_link_is_replaced_and_its_target_stays_as_it_is(tmp_path: Path) -> None:
    """Also one that leads nowhere yet."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("precious")
    link.symlink_to(target)
    write_whole(link, "new")
    assert (target.read_text(), link.read_text(), link.is_symlink()) == ("precious", "new", False)
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "made by following")
    write_whole(dangling, b"new")
    assert not (tmp_path / "made by following").exists()


def test_a_private_file_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    """Also where everybody could read the one before."""
    path = tmp_path / "secret"
    path.touch(0o644)
    write_private(path, "s")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    """The directory in the way stays."""
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        write_whole(tmp_path / "taken", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_directory_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Files would be written through it."""
    assert real_directory(tmp_path / "a" / "b").is_dir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(FileExistsError, match="symbolic link"):
        real_directory(tmp_path / "link")


def archive(path: Path, files: dict[str, bytes]) -> Path:
    """A zip file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return path


def test_an_archive_is_read_whole(tmp_path: Path) -> None:
    """Names and contents."""
    files = {"trace.json": b"{}", "objects/1": b"x" * 100_000, "empty": b""}
    assert unpack(archive(tmp_path / "a.zip", files)) == files


@pytest.mark.parametrize("name", ["../up", "/root", "a/../../b", "C:/x", "..\\up"])
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    """Nothing is written, but the names are shown and used as keys."""
    with pytest.raises(BadArchive, match="leads elsewhere"):
        unpack(archive(tmp_path / "a.zip", {name: b""}))


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    """By what comes out of it, whatever it says; a file or all of them together."""
    bomb = archive(tmp_path / "bomb.zip", {"zeros": bytes(20 << 20)})
    assert bomb.stat().st_size < 100_000
    with pytest.raises(BadArchive, match="unpacks to more than 1000000 bytes"):
        unpack(bomb, max_bytes=1_000_000)
    with pytest.raises(BadArchive, match="more than 250 bytes"):
        unpack(archive(tmp_path / "sum.zip", {f"f{n}": b"x" * 100 for n in range(3)}), max_bytes=250)
    with pytest.raises(BadArchive, match="holds 3 files"):
        unpack(tmp_path / "sum.zip", max_files=2)


def test_links_and_damaged_archives_are_refused(tmp_path: Path) -> None:
    """With a sentence, not with a traceback."""
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as made:
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(link, "/etc/passwd")
    with pytest.raises(BadArchive, match="link"):
        unpack(tmp_path / "link.zip")
    whole = archive(tmp_path / "whole.zip", {"a": b"some content " * 100}).read_bytes()
    for index in range(0, len(whole), 3):
        damaged = tmp_path / "damaged.zip"
        damaged.write_bytes(whole[:index] + bytes([whole[index] ^ 0xFF]) + whole[index + 1 :])
        with contextlib.suppress(BadArchive):
            unpack(damaged)
    (tmp_path / "none.zip").write_bytes(b"")
    for path in (tmp_path / "none.zip", tmp_path / "missing.zip"):
        with pytest.raises(BadArchive):
            unpack(path)
